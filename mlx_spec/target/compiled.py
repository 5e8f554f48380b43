"""Compiled passes of a model: one function for all graphs that read the same rows."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx

from mlx_spec.arrays import Length, Pass
from mlx_spec.target.cache import CAPACITY_STEP, Buffer, capacity_for

KEPT = 40
"""Graphs that are kept for later texts. One of 32 layers takes 3 MB; a text needs about five for each range
of rows, and more where several are written at once."""


class CompiledPasses:
    """A function of arrays, compiled for each range of rows that it reads: that is in its graph."""

    def __init__(self, function: Callable[..., Any]):
        self._function = self.run = function
        self._kept: dict[tuple[int, int], Callable[..., Any]] = {}
        """Compiled functions by the first and the last row that they read, the latest last."""
        self._built: Counter[tuple[int, int]] = Counter()
        """Graphs of each."""
        self.reset()

    def reset(self) -> None:
        """The next pass reads no more rows than it needs."""
        self.bounds = Length.exact(0)
        """The first and the last row that passes read."""

    def fit(self, p: Pass, buffers: Sequence[Buffer]) -> None:
        """Adjust bounds and buffers to a pass."""
        end, low = p.start.high + p.ids.shape[1], p.start.low // CAPACITY_STEP * CAPACITY_STEP
        if low and not any(buffer.window for buffer in buffers):
            low = 0  # layers without a window read from the first row, however long the text is
        if low != self.bounds.low or self.bounds.high < end:
            needed = capacity_for(end)
            found = self._kept.pop((low, needed), None)
            while sum(self._built.values()) > KEPT and self._kept:
                oldest = next(iter(self._kept))
                del self._kept[oldest], self._built[oldest]
            function, bounds = found or self._anew((low, needed)), Length(0, low, needed)
            # Both or neither, whatever interrupts this: a function's graphs are built with these bounds.
            self._kept[low, needed] = function
            self.run, self.bounds = function, bounds
        for buffer in buffers:
            buffer.grow(self.bounds.high)

    def _anew(self, rows: tuple[int, int]) -> Callable[..., Any]:
        def build(*given: Any) -> Any:
            self._built[rows] += 1
            return self._function(*given)

        # MLX knows graphs by the function's identity: one function would keep those of other bounds.
        return mx.compile(build)
