"""Tokens per second against the draft length."""

import math
from collections.abc import Sequence
from itertools import cycle

from textual_plot import HiResMode, PlotWidget

from app.compare.plots import Series

LOOKS = (("green", "●"), ("yellow", "◆"), ("cyan", "■"), ("magenta", "▲"), ("blue", "×"), ("red", "+"))
"""A colour and a marker per line: the marker is the cue where there is no colour."""

TICKS = 4
"""Above 0, at most: the plot may be six lines high, and two ticks on one line would hide each other."""


class LengthPlot(PlotWidget, can_focus=False):
    """One line per drafter and temperature; 0 is plain decoding."""

    def __init__(self, lines: Sequence[Series]) -> None:
        super().__init__()
        self.lines = tuple(lines)

    def on_mount(self) -> None:
        # The plot widget clears itself when it is mounted, after this.
        self.call_after_refresh(self._draw)

    def on_show(self) -> None:
        # Its canvases have a size only now.
        self.call_after_refresh(self.refresh, layout=True)

    def _draw(self) -> None:
        for line, (color, marker) in zip(self.lines, cycle(LOOKS)):
            self.plot(line.lengths, line.speeds, line_style=color, hires_mode=HiResMode.BRAILLE)
            self.scatter(line.lengths, line.speeds, marker=marker, marker_style=f"bold {color}")
        longest = max(max(line.lengths) for line in self.lines)
        highest = max(max(line.speeds) for line in self.lines)
        self.set_xlimits(-0.3, longest + 0.3)
        self.set_ylimits(0, highest * 1.15)
        self.set_yticks(ticks(highest * 1.15))
        self.set_xticks(range(longest + 1))
        self.set_xlabel("draft length (0: plain)")
        self.set_ylabel("tokens/s")


def ticks(highest: float) -> list[float]:
    """Round numbers from 0 up to `highest`, evenly apart."""
    power = 10 ** math.floor(math.log10(highest / TICKS))
    step = next(n * power for n in (1, 2, 5, 10) if highest / (n * power) <= TICKS)
    return [n * step for n in range(math.floor(highest / step) + 1)]
