"""`remove`: download a pair."""

EXAMPLE = "Example: mlx-spec remove smollm2-1.7b"


def command() -> int:
    """Delete a pair."""
    return 0
