"""A comparison as a table, as JSON and as CSV."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.compare.bench.comparison import Comparison, compare
from app.compare.bench.measured import Measured
from app.engine.difference import Difference
from app.shell.output_file import writing
from app.shell.printable import one_line
from models.size_text import size_text

if TYPE_CHECKING:
    from rich.table import Table


def table(categories: Mapping[str, Comparison], overall: Comparison) -> "Table":
    """One line per category, and one over all. Pairs of numbers are plain/drafted."""
    from app.shell.tables import plain_table

    grid = plain_table(
        "", ">plain\ntok/s", ">drafted\ntok/s", ">\nratio", ">\nspread", ">acc./\nround", ">acc.\nrate",
        ">1st token\nms", ">peak\nmemory",
    )  # fmt: skip
    for name, comparison in categories.items():
        grid.add_row(*_cells(name, comparison))
    grid.add_section()
    grid.add_row(*_cells("all", overall), style="bold")
    return grid


def _cells(name: str, c: Comparison) -> list[str]:
    low, high = c.ratio_spread
    return [
        one_line(name),
        f"{c.plain_tps:.1f}",
        f"{c.drafted_tps:.1f}",
        f"{c.ratio:.2f}x",
        f"{low:.2f}-{high:.2f}",
        f"{c.accepted_per_round:.2f}",
        f"{c.acceptance_rate:.0%}",
        f"{c.plain_time_to_first_token * 1000:.0f}/{c.drafted_time_to_first_token * 1000:.0f}",
        size_text(c.peak_memory_bytes),
    ]


def row(measured: Measured) -> dict[str, Any]:
    """One prompt, flat but for the difference."""
    prompt = measured.prompt
    return {
        "id": prompt.id,
        "category": prompt.category,
        "tokens": measured.tokens,
        **compare([measured]).as_json(),
        "same_text": measured.difference is None,
        "difference": difference_json(measured.difference),
    }


def difference_json(difference: Difference | None) -> dict[str, Any] | None:
    """A difference's fields, and whether rounding explains it."""
    return {**asdict(difference), "near_tie": difference.near_tie} if difference else None


def difference_text(difference: Difference) -> str:
    """A difference in one line."""
    margin = "one answer had ended" if difference.margin is None else f"{difference.margin:.3g} logits apart"
    kind = "a near-tie" if difference.near_tie else "NOT explained by rounding"
    return (
        f"token {difference.position}: {difference.plain!r} plain, {difference.drafted!r} drafted, "
        f"{margin} (rounding: up to {difference.tolerance:.2g}): {kind}"
    )


def write_csv(file: Path, rows: Sequence[dict[str, Any]]) -> None:
    """One line per prompt.

    Raises:
        MachineFailed: the file cannot be written.
    """
    nested = ("difference", "ratio_spread", "prompts", "same_text")
    flat = [{k: v for k, v in row.items() if k not in nested} for row in rows]
    for line, row in zip(flat, rows, strict=True):
        line["ratio_low"], line["ratio_high"] = row["ratio_spread"]
        line["same_text"] = row["same_text"]
    with writing(file), file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(flat[0]))
        writer.writeheader()
        writer.writerows(flat)
