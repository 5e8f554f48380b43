"""Formatting durations for people."""


def time_text(seconds: float) -> str:
    """`40 s`, `3 min`, `2.1 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
