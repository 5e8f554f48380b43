"""Numbers as a person reads them: counts, times and bars."""

from collections.abc import Iterable
from datetime import datetime

MINUTE, HOUR, DAY = 60, 3600, 86400
BARS = "▁▂▃▄▅▆▇█"


def counted(number: int, thing: str) -> str:
    """`1 chat`, `1,200 chats`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def duration_text(seconds: float) -> str:
    """`40 s`, `3:05 min`, `2 h 5 min`."""
    minutes, rest = divmod(int(seconds), MINUTE)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes}:{rest:02d} min" if minutes else f"{rest} s"


def ago(then: float, now: float) -> str:
    """Both in seconds since 1970. A time in the future (a clock was set back) is shown as its date."""
    seconds = now - then
    if not 0 <= seconds < DAY:
        return datetime.fromtimestamp(then).strftime("%Y-%m-%d")
    if seconds < MINUTE:
        return "just now"
    return f"{seconds // MINUTE:.0f} min ago" if seconds < HOUR else f"{seconds // HOUR:.0f} h ago"


def bars(values: Iterable[float], highest: float) -> str:
    """One upright bar of one character per value from 0 to `highest`."""
    shares = (min(max(value / highest, 0), 1) if highest else 0 for value in values)
    return "".join(BARS[round(share * (len(BARS) - 1))] for share in shares)


def bar(full: int, cells: int) -> str:
    """One lying bar with some of its cells filled."""
    return "█" * min(full, cells) + "░" * (cells - full)
