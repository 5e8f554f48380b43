"""The process that searches the Hub, started by `models.hub.search`."""

from huggingface_hub import ModelInfo, constants
from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

from models.child import asked
from models.errors import MachineTrouble
from models.hub.hub_errors import explain
from models.hub.search import SHOWN, FoundModel
from models.pairs.folder import BITS
from models.pairs.pair import Source

_SECONDS = 15
_FIELDS = ["downloads", "gated", "safetensors", "tags"]
_LIBRARY = "mlx"
_LICENCE = "license:"


def main() -> None:
    """Send a list of models, or an error."""
    (words,), send = asked()
    if constants.HF_HUB_OFFLINE:
        return send(MachineTrouble("Offline mode is on. Unset HF_HUB_OFFLINE to search the Hub."))
    try:
        send([_facts(info) for info in _found(words)])
    except Exception as error:
        send(explain(error, Source(f"a search for '{words}'"), "Search again."))


def _found(words: str) -> list[ModelInfo]:
    """One request: `HfApi.list_models` would retry for half a minute while the user waits."""
    query = {"search": words, "filter": _LIBRARY, "sort": "downloads", "limit": SHOWN, "expand": _FIELDS}
    answer = get_session().get(
        f"{constants.ENDPOINT}/api/models", params=query, headers=build_hf_headers(), timeout=_SECONDS
    )
    hf_raise_for_status(answer)
    return [ModelInfo(**fields) for fields in answer.json()]


def _facts(info: ModelInfo) -> FoundModel:
    """TypeError or AttributeError if a field is of another type than the Hub's."""
    if not isinstance(info.id, str) or not isinstance(info.downloads, int | None):
        raise TypeError(f"no model: {info}")
    counts = info.safetensors.parameters if info.safetensors else {}
    licences = [tag.removeprefix(_LICENCE) for tag in info.tags or () if tag.startswith(_LICENCE)]
    return FoundModel(
        repo=info.id,
        bytes=sum(count * BITS.get(dtype, 16) // 8 for dtype, count in counts.items()),
        licence=", ".join(licences),
        downloads=info.downloads or 0,
        gated=bool(info.gated),
    )


if __name__ == "__main__":
    main()
