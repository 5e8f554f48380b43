"""Tables for people, on a terminal or in a pipe."""

import sys
from io import StringIO
from typing import TYPE_CHECKING

from app.shell.output import data

if TYPE_CHECKING:
    from rich.table import Table

PIPE_WIDTH = 160
"""Columns if there is no terminal."""
TEXT_WIDTH = 12
"""Columns that a folded text needs to be readable."""


def plain_table(*heads: str) -> "Table":
    """An empty table; a head that begins with `>` is a column of numbers. The first is never wrapped."""
    from rich import box
    from rich.table import Table

    rule = box.SIMPLE if "utf" in sys.stdout.encoding.lower() else box.ASCII
    grid = Table(box=rule, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        justify = "right" if head.startswith(">") else "left"
        grid.add_column(head.removeprefix(">"), justify=justify, overflow="fold", no_wrap=place == 0)
    return grid


def print_table(grid: "Table") -> None:
    """Print the table; if it is too wide to keep its numbers whole, print a block of lines per row."""
    from rich.console import Console

    seen, piped = sys.stdout.isatty(), StringIO()
    file, width = (None, None) if seen else (piped, PIPE_WIDTH)
    # `force_terminal`, because with FORCE_COLOR rich colours a pipe too.
    console = Console(file=file, markup=False, emoji=False, highlight=False, force_terminal=seen, width=width)
    if console.width < _least_width(grid):
        data(_as_blocks(grid))
        return
    console.print(grid)
    if not seen:
        data("\n".join(line.rstrip() for line in piped.getvalue().rstrip("\n").split("\n")))


def _least_width(grid: "Table") -> int:
    """The least width (columns) that keeps numbers and first cells whole and texts readable."""
    from rich.cells import cell_len

    least = 0
    for place, column in enumerate(grid.columns):
        cells = (str(cell) for cell in (column.header, *column.cells))
        widest = max(cell_len(line) for cell in cells for line in cell.split("\n"))
        whole = place == 0 or column.justify == "right"
        least += 2 + (widest if whole else min(widest, TEXT_WIDTH))
    return least


def _as_blocks(grid: "Table") -> str:
    """Each row's first cell, and below it one line, `head  cell`, per further cell that is not empty."""
    heads = [" ".join(str(column.header).split()) for column in grid.columns[1:]]
    width = max(map(len, heads), default=0)
    lines: list[str] = []
    for first, *cells in zip(*(column.cells for column in grid.columns), strict=True):
        lines.append(str(first))
        lines += [f"  {head:<{width}}  {cell}" for head, cell in zip(heads, cells, strict=True) if cell]
    return "\n".join(lines)
