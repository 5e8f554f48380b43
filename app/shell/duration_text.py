"""A time that is left, as people say it."""


def duration_text(seconds: float) -> str:
    """`40 s`, `3:05 min`, `2 h 5 min`."""
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes}:{rest:02d} min" if minutes else f"{rest} s"
