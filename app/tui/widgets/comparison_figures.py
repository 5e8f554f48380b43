"""The figures of a comparison: a plot over draft lengths, tables of the settings and categories."""

from collections.abc import Callable, Iterator
from itertools import cycle

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from app.compare.plots import auto_speeds, series
from app.compare.record import Record
from app.compare.tables import category_table, settings_table

POINTS_FOR_A_PLOT = 3


class ComparisonFigures(VerticalScroll, can_focus=False):
    async def show(self, record: Record) -> None:
        await self.remove_children()
        await self.mount_all(_parts(record))


def _parts(record: Record) -> Iterator[Widget]:
    lines = series(record)
    if any(len(line.lengths) >= POINTS_FOR_A_PLOT for line in lines):
        # Imports numpy, which a chat does not need.
        from app.tui.widgets.length_plot import AUTO, LOOKS, LengthPlot

        autos = auto_speeds(record)
        if len(lines) > 1 or autos:  # above the plot: inside it would hide points
            looks = zip(lines, cycle(LOOKS))
            marks = [Content.styled(f"{sign} {line.label}", f"${color}") for line, (color, sign) in looks]
            if autos:
                marks.append(Content(f"{AUTO}{AUTO} length auto"))
            yield Static(Content("   ").join(marks))
        yield LengthPlot(lines, autos)
    yield FittedTable(lambda narrow: settings_table(record, narrow=narrow))
    if record.has_categories:
        yield FittedTable(lambda narrow: category_table(record, narrow=narrow))


class FittedTable(Static):
    """A table, in its narrow form if the full one does not fit."""

    def __init__(self, draw: Callable[[bool], Table]) -> None:
        super().__init__(_Fitted(draw))


class _Fitted:
    def __init__(self, draw: Callable[[bool], Table]) -> None:
        self._draw = draw

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        full = self._draw(False)
        fits = Measurement.get(console, console.options, full).maximum <= options.max_width
        yield full if fits else self._draw(True)
