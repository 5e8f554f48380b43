"""Numbers as small bars."""

from collections.abc import Iterable

BARS = "▁▂▃▄▅▆▇█"


def bars(values: Iterable[float], highest: float) -> str:
    """A bar of one character per value from 0 to `highest`; also the smallest is seen."""
    top = len(BARS) - 1
    return "".join(
        BARS[round(min(max(value / highest, 0), 1) * top)] if highest else BARS[0] for value in values
    )


def bar(full: int, cells: int) -> str:
    """One lying bar with some of its cells filled."""
    full = min(full, cells)
    return "█" * full + "░" * (cells - full)
