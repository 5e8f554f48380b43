"""Wall time of rounds, and whether it is what such a round costs."""

import time
from collections.abc import Callable

import mlx.core as mx

TIMED_EVERY, TIMED_FIRST = 64, 4
"""Each 64th drafted round is timed in two parts, draft and verify; it is read at once. The first comes
soon: many answers have no more than ten rounds."""


class Timer:
    """Of one generation.

    Args:
        graphs_built: how many graphs the models have built so far; a round that builds one takes longer.
    """

    def __init__(self, graphs_built: Callable[[], int]):
        self._graphs_built = graphs_built
        self._graphs = graphs_built()
        self._read_at = time.perf_counter()
        self._next = TIMED_FIRST

    def is_due(self, number: int) -> bool:
        """Whether the draft of this round should be timed alone."""
        return number >= self._next

    def draft_seconds(self, draft: mx.array, start: float, number: int) -> float:
        """Wait for the draft of this round: seconds since `start`."""
        mx.eval(draft)
        self._next = number + TIMED_EVERY
        return time.perf_counter() - start

    def lap(self) -> tuple[float, bool]:
        """(seconds since the last round was read, whether a graph was built meanwhile)."""
        now, graphs = time.perf_counter(), self._graphs_built()
        seconds, built = now - self._read_at, graphs != self._graphs
        self._read_at, self._graphs = now, graphs
        return seconds, built
