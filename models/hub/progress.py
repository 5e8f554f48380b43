"""Progress of a pull as plain values, and its transfer rate."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Phase = Literal["asking", "tokenizers", "weights", "checking", "done"]

_STALLED_SECONDS = 5.0
_RATE_SECONDS = 10.0
_SURE_SECONDS = 3.0
"""Measured before a rate is shown: connections begin slowly, and the time left would be far too long."""


@dataclass(frozen=True, slots=True)
class Progress:
    phase: Phase
    done_bytes: int = 0
    totals: tuple[int, ...] = ()
    """Bytes by model: 0 while unknown, and for a model that is already here."""
    transferred_bytes: int = 0
    """In this pull."""
    bytes_per_second: float = 0.0
    """0 while unknown."""
    stalled_seconds: float = 0.0
    """Time without a byte while fetching; 0 until it exceeds `_STALLED_SECONDS`."""
    wait_seconds: float = 0.0
    """Left of a wait that the Hub asked for."""
    notes: tuple[str, ...] = ()

    @property
    def total_bytes(self) -> int:
        return sum(self.totals)

    @property
    def seconds_left(self) -> float | None:
        """At the present rate; None while that is unknown."""
        if self.phase != "weights" or self.stalled_seconds or not self.bytes_per_second:
            return None
        return (self.total_bytes - self.done_bytes) / self.bytes_per_second

    @property
    def fraction(self) -> float:
        """0 to 1; more than 0.99, which is shown as 100%, only when everything is fetched and checked."""
        if self.phase == "done":
            return 1.0
        return min(self.done_bytes / self.total_bytes, 0.99) if self.total_bytes else 0.0


class Pace:
    """Transfer rate over the last `_RATE_SECONDS`, and time since the last byte."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque([(clock(), 0)])
        self._last_change = clock()

    def add(self, transferred: int, *, fetching: bool) -> None:
        """`transferred`: total bytes so far. Time in which nothing is fetched does not count."""
        now = self._clock()
        if transferred != self._seen[-1][1] or not fetching:
            self._last_change = now
        if not fetching or transferred == self._seen[0][1]:
            self._seen.clear()  # the rate starts with the first byte
        self._seen.append((now, transferred))
        while now - self._seen[0][0] > _RATE_SECONDS:
            self._seen.popleft()

    def rate(self) -> float:
        """Bytes per second; 0 until it was measured for `_SURE_SECONDS`."""
        (start, first), (end, last) = self._seen[0], self._seen[-1]
        return max(last - first, 0) / (end - start) if end - start >= _SURE_SECONDS else 0.0

    def stalled_seconds(self) -> float:
        silent = self._clock() - self._last_change
        return silent if silent > _STALLED_SECONDS else 0.0
