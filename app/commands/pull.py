"""`pull`: download a pair."""

EXAMPLE = "Example: mlx-spec pull smollm2-1.7b"


def command() -> int:
    """Download a pair."""
    return 0
