"""How long ago something was, in words."""

from datetime import datetime

MINUTE, HOUR, DAY = 60, 3600, 86400


def ago(then: float, now: float) -> str:
    """Both in seconds since 1970. A time in the future (a clock was set back) is shown as its date."""
    seconds = now - then
    if 0 <= seconds < MINUTE:
        return "just now"
    if 0 <= seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min ago"
    if 0 <= seconds < DAY:
        return f"{seconds // HOUR:.0f} h ago"
    return datetime.fromtimestamp(then).strftime("%Y-%m-%d")
