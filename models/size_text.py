"""Formatting bytes for people."""


def size_text(count: int) -> str:
    """Decimal units, as used for disks and by the Hub: `1.8 GB`."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= 0.99995 * size:  # shown as 1.0
            return f"{count / size:.1f} {unit}"
    return f"{count} B"
