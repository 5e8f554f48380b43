"""Wall time of rounds, and whether it is typical of such a round."""

import time
from collections.abc import Callable

import mlx.core as mx

TIMED_EVERY, TIMED_FIRST = 64, 4
"""Each 64th drafted round is timed in two parts, draft and verify; it is read at once. The first comes
soon: many answers have no more than ten rounds."""


class Timer:
    """Times successive rounds.

    Args:
        graphs_built: how many graphs the models have built so far; a round that builds one takes longer.
    """

    def __init__(self, graphs_built: Callable[[], int]):
        self._graphs_built = graphs_built
        self._graphs = graphs_built()
        self._read_at = time.perf_counter()
        self._next = TIMED_FIRST
        self._disturbed = False
        self._laps = 0
        """Rounds that were read."""

    def is_due(self, pending: int) -> bool:
        """Whether the draft of the next round, behind `pending` in flight, should be timed alone."""
        return self._laps + pending >= self._next

    def draft_seconds(self, draft: mx.array, start: float) -> float:
        """Wait for the draft of a round, with no other in flight; returns seconds since `start`."""
        mx.eval(draft)
        self._next = self._laps + TIMED_EVERY
        return time.perf_counter() - start

    def disturb(self) -> None:
        """Something other than rounds ran."""
        self._disturbed = True

    def lap(self) -> tuple[float, bool]:
        """(seconds since the last round was read, whether nothing but rounds ran and no graph was built)."""
        now, graphs = time.perf_counter(), self._graphs_built()
        seconds, alone = now - self._read_at, graphs == self._graphs and not self._disturbed
        self._read_at, self._graphs, self._disturbed = now, graphs, False
        self._laps += 1
        return seconds, alone
