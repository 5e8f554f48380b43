"""A comparison in figures: a plot of the lengths, every setting, every category."""

from collections.abc import Callable, Iterator

from rich.table import Table
from rich.text import Text
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static

from app.comparisons.record import Record
from app.comparisons.series import series
from app.printable import one_line

POINTS_FOR_A_PLOT = 3
NARROW = 60
"""Columns below which a table leaves the last ones out."""


class ComparisonFigures(VerticalScroll):
    """Empty until a record is shown."""

    async def show(self, record: Record) -> None:
        """Draw a record's figures in place of the ones before."""
        await self.remove_children()
        await self.mount_all(_parts(record))


def _parts(record: Record) -> Iterator[Widget]:
    lines = series(record)
    if any(len(line.lengths) >= POINTS_FOR_A_PLOT for line in lines):
        # Brings numpy along, which a chat does not need.
        from app.tui.widgets.length_plot import LengthPlot

        yield LengthPlot(lines)
    yield FittedTable(lambda narrow: settings_table(record, narrow=narrow))
    if len(set(prompt.category for prompt in record.prompts)) > 1:
        yield FittedTable(lambda narrow: category_table(record))


class FittedTable(Static):
    """A table that knows whether it has to be narrow."""

    def __init__(self, draw: Callable[[bool], Table]) -> None:
        super().__init__()
        self._draw_table = draw
        self._narrow: bool | None = None

    def on_resize(self, event: Resize) -> None:
        narrow = event.size.width < NARROW
        if narrow is not self._narrow:
            self._narrow = narrow
            self.update(self._draw_table(narrow))


def settings_table(record: Record, *, narrow: bool) -> Table:
    """One line per setting, the plain ones among them."""
    heads = ["setting", "tok/s", "ratio", "spread", "acc./round", "same text"]
    table = _table(*heads[: 4 if narrow else None])
    for place, setting in enumerate(record.settings):
        cells: list[str | Text] = [Text(setting.label), f"{record.speed(place):.1f}"]
        if setting.drafts:
            one = record.comparison(place)
            low, high = one.ratio_spread
            cells.append(Text(f"{one.ratio:.2f}x", "bold" if one.won else "reverse" if one.lost else ""))
            cells.append(f"{low:.2f}-{high:.2f}")
            cells += [f"{one.accepted_per_round:.2f}", f"{one.same_text}/{one.prompts}"]
        table.add_row(*cells[: len(table.columns)])
    return table


def category_table(record: Record) -> Table:
    """The ratio of every drafting setting by category."""
    categories = {place: record.categories(place) for place in record.drafting}
    names = list(next(iter(categories.values())))
    table = _table("ratio", *(one_line(name)[:10] for name in names))
    for place, by in categories.items():
        table.add_row(Text(record.settings[place].label), *(f"{by[name].ratio:.2f}" for name in names))
    return table


def _table(*heads: str) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for place, head in enumerate(heads):
        table.add_column(
            Text(head), justify="right" if place else "left", no_wrap=True, style="" if place else "bold"
        )
    return table
