"""`doctor`: download a pair."""

EXAMPLE = "Example: mlx-spec doctor smollm2-1.7b"


def command() -> int:
    """Look for problems."""
    return 0
