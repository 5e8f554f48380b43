"""`python -m benchmarks.peers.readme FILE`: the README's tables from the JSON document of `make bench-peers`.

FILE is its last line: `make -s bench-peers | tail -1 > FILE`.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.peers.ratios import NEVER_SLOWER
from benchmarks.peers.report import Row, grid

NAMES = {
    ("ours auto", "mlx-lm plain"): "auto / mlx-lm's `generate_step`",
    ("ours auto", "ours best"): "auto / our best fixed length",
    ("ours auto", "mlx-lm best"): "auto / mlx-lm's speculative at its best length by kind of prompt",
    ("ours auto", "mlx-lm best of all"): "auto / the same at its one best length for all prompts",
    ("ours auto", "mlx-lm 2"): "auto / the same at its default of 2",
    ("ours auto", "transformers plain"): "auto / transformers",
    ("ours auto", "transformers assistant"): "auto / transformers with `assistant_model`",
    ("ours auto", "transformers lookup"): "auto / transformers with `prompt_lookup_num_tokens`",
    ("ours plain", "mlx-lm plain"): "our plain decoding / `generate_step`",
    ("ours 3", "mlx-lm 3"): "3 drafted / mlx-lm's speculative at 3",
    ("ours auto, other draft", "mlx-lm plain"): "auto with a draft of other text / `generate_step`",
}
"""The ratios that the README shows, with their labels."""
GROUPS = ("chat", "code", "copying", "repeating", "editing", "out of domain", "all")


def tables(found: Mapping[str, Any]) -> Iterator[str]:
    """Lines of Markdown. Bold: slower, or less than wanted."""
    for temperature in sorted({row["temperature"] for row in found["rows"]}):
        _, by_pair = grid(found["rows"], temperature)
        yield f"| temperature {temperature:g} | {' | '.join(GROUPS)} |"
        yield "|---" * (1 + len(GROUPS)) + "|"
        for pair, name in NAMES.items():
            if rows := by_pair.get(pair):
                yield f"| {name} | {' | '.join(_cell(rows.get(group)) for group in GROUPS)} |"
        yield ""
    versions = found["versions"]
    yield (
        f"`{found['command']}`, {found['device']}, {found['blas']}, mlx {versions['mlx']}, "
        f"mlx-lm {versions['mlx-lm']}, {found['date'][:10]}: {found['prompts']} prompts, "
        f"{found['repeats']} repeats, at most {found['max_tokens']} tokens; median (range over repeats)."
    )


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    low, high = row["spread"]
    text = f"{row['ratio']:.2f} ({low:.2f} to {high:.2f})"
    return f"**{text}**" if row["holds"] is False or row["ratio"] < NEVER_SLOWER else text


if __name__ == "__main__":
    print("\n".join(tables(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))
