"""The process that searches: `python -m models.hub.search_child WORDS`, started by `models.hub.search`.

It prints a line of JSON: a list of models, or what went wrong.
"""

import json
import sys
from typing import Any

from huggingface_hub import ModelInfo, constants
from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

from models.hub.hub_errors import explain
from models.pairs.folder import BITS
from models.pairs.pair import Source

_SHOWN, _SECONDS = 50, 15
_FIELDS = ["downloads", "gated", "safetensors", "tags"]
_LIBRARY = "mlx"
_LICENCE = "license:"


def main() -> None:
    words = sys.argv[1]
    try:
        answer: Any = [_facts(info) for info in _found(words)]
    except Exception as error:
        trouble = explain(error, Source(f"a search for '{words}'"))
        answer = {"error": type(trouble).__name__, "message": str(trouble)}
    # A line of its own, whatever a library has printed before.
    print(f"\n{json.dumps(answer)}", flush=True)


def _found(words: str) -> list[ModelInfo]:
    """One request: `HfApi.list_models` would try again for half a minute, while a person waits."""
    parameters = {
        "search": words,
        "filter": _LIBRARY,
        "sort": "downloads",
        "limit": _SHOWN,
        "expand": _FIELDS,
    }
    answer = get_session().get(
        f"{constants.ENDPOINT}/api/models", params=parameters, headers=build_hf_headers(), timeout=_SECONDS
    )
    hf_raise_for_status(answer)
    return [ModelInfo(**fields) for fields in answer.json()]


def _facts(info: ModelInfo) -> dict[str, object]:
    """Fields of `FoundModel`."""
    counts = info.safetensors.parameters if info.safetensors else {}
    licences = [tag.removeprefix(_LICENCE) for tag in info.tags or () if tag.startswith(_LICENCE)]
    return {
        "repo": info.id,
        "bytes": sum(count * BITS.get(dtype, 16) // 8 for dtype, count in counts.items()),
        "licence": ", ".join(licences),
        "downloads": info.downloads or 0,
        "gated": bool(info.gated),
    }


if __name__ == "__main__":
    main()
