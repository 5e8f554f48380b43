"""Tables for people, on a terminal or in a pipe."""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

PIPE_WIDTH = 160
"""Columns where no terminal says how many there are."""


def plain_table(*heads: str) -> "Table":
    """An empty table; a head that begins with `>` is a column of numbers. The first is never wrapped."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE, padding=(0, 0, 0, 1), pad_edge=False, header_style="bold")
    for place, head in enumerate(heads):
        justify = "right" if head.startswith(">") else "left"
        grid.add_column(head.removeprefix(">"), justify=justify, overflow="fold", no_wrap=place == 0)
    return grid


def print_table(grid: "Table") -> None:
    """The table on stdout. Cells are text, never markup."""
    from rich.console import Console

    from app.output import data

    width = None if sys.stdout.isatty() else PIPE_WIDTH
    console = Console(file=sys.stdout, markup=False, emoji=False, highlight=False, width=width)
    if sys.stdout.isatty():
        console.print(grid)
        return
    with console.capture() as capture:
        console.print(grid)
    data("\n".join(line.rstrip() for line in capture.get().rstrip("\n").split("\n")))
