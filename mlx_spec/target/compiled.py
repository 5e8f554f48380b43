"""Compiled passes of a model: one function for all graphs that read the same rows."""

from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx

from mlx_spec.arrays import Length, Pass
from mlx_spec.target.cache import CAPACITY_STEP, Buffer, capacity_for

KEPT = 6
"""Ranges of rows whose graphs are kept: of short texts, which each text begins as, and a few longer ones. A
graph of 32 layers takes 3 MB, and a range has some 5 of them."""


class CompiledPasses:
    """A function of arrays, compiled for each range of rows that it reads: that is in its graph."""

    def __init__(self, function: Callable[..., Any]):
        self._function = function
        self._kept: dict[tuple[int, int], Callable[..., Any]] = {}
        """Compiled functions by the first and the last row that they read, the latest last."""
        self.reset()

    def reset(self) -> None:
        """The next pass reads no more rows than it needs."""
        self.bounds = Length.exact(0)
        """The first and the last row that passes read."""
        self.run = self._anew()

    def fit(self, p: Pass, buffers: Sequence[Buffer]) -> None:
        """Adjust bounds and buffers to a pass."""
        needed = capacity_for(p.start.high + p.ids.shape[1])
        # Layers without a window read from the first row, however long the text is.
        low = p.start.low // CAPACITY_STEP * CAPACITY_STEP if any(b.window for b in buffers) else 0
        if low != self.bounds.low or self.bounds.high < needed:
            self.bounds = Length(0, low, needed)
            self.run = self._kept[low, needed] = self._kept.pop((low, needed), None) or self._anew()
            while len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
        for buffer in buffers:
            buffer.grow(self.bounds.high)

    def _anew(self) -> Callable[..., Any]:
        # MLX knows graphs by the function's identity: one function would keep those of other bounds.
        return mx.compile(lambda *given: self._function(*given))
