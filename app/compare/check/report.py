"""What a check found, as a table and as JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from app.compare.bench.report import difference_json
from app.compare.check.lossless import Checked

if TYPE_CHECKING:
    from rich.table import Table


def unexplained(results: Sequence[Checked]) -> list[Checked]:
    """Texts that differ without a near-tie."""
    return [r for r in results if r.difference is not None and not r.difference.near_tie]


def near_ties(results: Sequence[Checked]) -> list[Checked]:
    """Texts that differ because rounding decided between two tokens."""
    return [r for r in results if r.difference is not None and r.difference.near_tie]


def verdict(results: Sequence[Checked]) -> str:
    """In words."""
    total, wrong, ties = len(results), len(unexplained(results)), len(near_ties(results))
    if wrong:
        return f"NOT lossless: {wrong} of {total} drafted texts differ and rounding does not explain it."
    if ties:
        return f"lossless: {total - ties} of {total} drafted texts are identical, {ties} part at a near-tie."
    if total == 1:
        return "lossless: the one drafted text is identical to the plain one."
    return f"lossless: all {total} drafted texts are identical to the plain ones."


def table(results: Sequence[Checked]) -> "Table":
    """One line per mode and drafter, one column per length."""
    from app.shell.tables import plain_table

    lengths = sorted({r.setting.length for r in results})
    grid = plain_table("mode", "drafter", *(f">length\n{length}" for length in lengths), ">tokens\naccepted")
    for mode, drafter in dict.fromkeys((r.setting.mode, r.setting.drafter) for r in results):
        group = [r for r in results if (r.setting.mode, r.setting.drafter) == (mode, drafter)]
        cells = [_cell([r for r in group if r.setting.length == length]) for length in lengths]
        grid.add_row(mode, drafter, *cells, str(sum(r.accepted for r in group)))
    return grid


def _cell(results: Sequence[Checked]) -> str:
    if not results:
        return ""
    same, ties = sum(r.difference is None for r in results), len(near_ties(results))
    if wrong := len(unexplained(results)):
        return f"{wrong} DIFFER"
    return f"{same} same" + (f", {ties} tied" if ties else "")


def as_json(results: Sequence[Checked]) -> dict[str, Any]:
    """Everything, with one row per prompt and setting."""
    return {
        "lossless": not unexplained(results),
        "verdict": verdict(results),
        "compared": len(results),
        "identical": sum(r.difference is None for r in results),
        "near_ties": len(near_ties(results)),
        "unexplained": len(unexplained(results)),
        "rows": [
            {
                "prompt": r.prompt,
                "mode": r.setting.mode,
                "drafter": r.setting.drafter,
                "draft_length": r.setting.length,
                "tokens": r.tokens,
                "accepted": r.accepted,
                "same_text": r.difference is None,
                "difference": difference_json(r.difference),
            }
            for r in results
        ],
    }
