"""Waits for what another thread or process does."""

import time
from collections.abc import Callable


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Return once a condition holds; fails after so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.02)
