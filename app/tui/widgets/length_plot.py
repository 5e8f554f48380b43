"""Tokens per second against the draft length."""

import math
from collections.abc import Mapping, Sequence
from itertools import cycle

from rich.style import Style
from textual.color import Color
from textual_plot import HiResMode, PlotWidget

from app.compare.plots import Series

COLOURS = ("text-success", "text-warning", "text-secondary", "text-error", "foreground", "text-muted")
MARKERS = "●◆■▲×+▼"
"""One more than there are colours: lines of one colour have different markers."""
LOOKS = tuple(zip(cycle(COLOURS), MARKERS * len(COLOURS)))
"""A colour of the theme and a marker per line: the marker tells lines apart without colours."""

AUTO, DASHES = "╌", 400
"""The marker of the line at auto's speed, and the number of steps along it."""
TICKS = 4
"""Most ticks above 0: the plot may be six lines high, and two ticks on one line would hide each other."""


class LengthPlot(PlotWidget, can_focus=False):
    """One line per drafter and temperature; 0 is plain decoding."""

    def __init__(self, lines: Sequence[Series], autos: Mapping[str, float]) -> None:
        """`autos`: line label to the tokens per second with the draft length that auto chose."""
        super().__init__()
        self.lines = tuple(lines)
        self.autos = autos

    def on_mount(self) -> None:
        # The plot widget clears itself when it is mounted, after this.
        self.call_next(self._draw)
        self.app.theme_changed_signal.subscribe(self, lambda _: self._draw())

    def on_unmount(self) -> None:
        self.app.theme_changed_signal.unsubscribe(self)  # it would keep the whole screen in memory

    def on_show(self) -> None:
        # The plot's canvases have no size before.
        self.call_after_refresh(self.refresh, layout=True)

    def _draw(self) -> None:
        if not self.query("#legend"):  # its screen was left meanwhile
            return
        self.clear()
        longest = max(max(line.lengths) for line in self.lines)
        across = [longest * step / DASHES for step in range(DASHES + 1)]
        for line, (name, marker) in zip(self.lines, cycle(LOOKS)):
            color = str(Style(color=Color.parse(self.app.theme_variables[name]).rich_color))
            if (auto := self.autos.get(line.label)) is not None:
                self.scatter(across, [auto] * len(across), marker=AUTO, marker_style=color)
            self.plot(line.lengths, line.speeds, line_style=color, hires_mode=HiResMode.BRAILLE)
            self.scatter(line.lengths, line.speeds, marker=marker, marker_style=f"bold {color}")
        highest = max(*(max(line.speeds) for line in self.lines), *self.autos.values(), 0) or 1.0
        self.set_xlimits(-0.3, longest + 0.3)
        self.set_ylimits(0, highest * 1.15)
        self.set_yticks(ticks(highest * 1.15))
        self.set_xticks(sorted({length for line in self.lines for length in line.lengths}))
        self.set_xlabel("draft length (0: plain)")
        self.set_ylabel("tokens/s")


def ticks(highest: float) -> list[float]:
    """Round numbers from 0 up to `highest`, evenly apart."""
    power = 10 ** math.floor(math.log10(highest / TICKS))
    step = next(n * power for n in (1, 2, 5, 10) if highest / (n * power) <= TICKS)
    return [n * step for n in range(math.floor(highest / step) + 1)]
