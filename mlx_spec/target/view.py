"""The caches that a model of mlx-lm is given in one pass: views of buffers."""

from collections.abc import Iterable, Iterator
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, CacheList

from mlx_spec.arrays import Length, Tree
from mlx_spec.target.cache import KV_GROUP_SIZE, VIEW_STEP, Buffer, Entry, round_up


class View:
    """The cache that a model of mlx-lm is given in one forward pass.

    When the host knows the offset exactly, reads are exact slices and the mask is the fused
    kernels' own; else the view ends at the upper bound and a mask built on the device hides the rest.
    """

    def __init__(self, buffer: Buffer, at: Length, tree: Tree | None = None):
        self.buffer = buffer
        self.at = at
        self.tree = tree
        self.offset = at.value if tree is None else _column(at) + tree.depths

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[Any, Any]:
        """mlx-lm's contract: write a pass's rows, `[b, heads, rows, dim]` each; read all it may look at."""
        start, count = self.at, keys.shape[2]
        self.buffer.write(keys, values, start.value, start.high + count)
        if self.tree is None:
            self.offset = start.value + count
        return self.look(count)

    def look(self, count: int) -> tuple[Any, Any]:
        """The same for a pass over `count` rows that were written before."""
        self._read = self._bounds(count)
        return self.keys_and_values()

    def keys_and_values(self) -> tuple[Any, Any]:
        """mlx-lm's contract: what `update_and_fetch` returned, for layers that share a cache."""
        return self.buffer.read(*self._read)

    start_position = 0
    """mlx-lm's chunked attention: the first row that is kept."""

    def maybe_trim_front(self) -> None:
        """mlx-lm's chunked attention, before each pass: every row is kept, its mask picks the chunk."""

    def make_mask(self, N: int, return_array: bool = False, window_size: int | None = None) -> Any:
        """mlx-lm's contract: None, "causal", or a boolean `[N, rows read]` (several: `[b, 1, ...]`)."""
        window = min((w for w in (window_size, self.buffer.window) if w), default=None)
        first, last = self._bounds(N)
        inside = window is None or last - first <= window
        if isinstance(self.at.value, int) and self.tree is None and inside:
            if N == 1:
                return None
            if not return_array:
                return "causal"
        mask = (
            self._chain_mask(N, first, last, window)
            if self.tree is None
            else self._tree_mask(first, last, window)
        )
        return mask[0] if mask.shape[0] == 1 else mask[:, None]

    def _chain_mask(self, count: int, first: int, last: int, window: int | None) -> mx.array:
        """`[b, count, rows read]`, b 1 where it is the same for all; each row sees those before it."""
        rows = mx.arange(first, last)
        queries = _column(self.at)[:, :, None] + mx.arange(count)[:, None]
        mask = rows <= queries
        return mask if window is None else mask & (rows > queries - window)

    def _tree_mask(self, first: int, last: int, window: int | None) -> mx.array:
        """The same for a tree: each row sees the text before the pass, and the rows it follows."""
        assert self.tree is not None
        rows, start = mx.arange(first, last), _column(self.at)
        visible, depths = self.tree.visible, self.tree.depths
        b, count = depths.shape
        # Without `count` as a number: it would be part of the compiled kernels, other ones for each count.
        places = mx.broadcast_to(start - rows[:1] + mx.arange(count), (b, count))
        before = mx.broadcast_to((rows < start)[:, None], (b, count, last - first))
        mask = mx.put_along_axis(before, mx.broadcast_to(places[:, None], visible.shape), visible, axis=2)
        if window is None:
            return mask
        positions = mx.broadcast_to(rows, (b, last - first))
        positions = mx.put_along_axis(positions, places, start + depths, axis=1)[:, None]
        return mask & (positions > (start + depths)[:, :, None] - window)

    def _bounds(self, count: int) -> tuple[int, int]:
        """The first row that a pass over `count` rows reads, and the end of the last."""
        at, window = self.at, self.buffer.window
        first, end = 0 if window is None else max(0, at.low + 1 - window), at.high + count
        if isinstance(at.value, int):
            return first, end
        return first // VIEW_STEP * VIEW_STEP, round_up(end, VIEW_STEP)


class PlainView(View):
    """A view of a plain buffer: mlx-lm's sparse attention also ties the arrays of two caches together."""

    @property
    def keys(self) -> mx.array:
        return self.buffer.arrays[0]

    @keys.setter
    def keys(self, keys: mx.array) -> None:
        self.buffer.arrays = (keys, self.buffer.arrays[1])

    @property
    def values(self) -> mx.array:
        return self.buffer.arrays[1]

    @values.setter
    def values(self, values: mx.array) -> None:
        self.buffer.arrays = (self.buffer.arrays[0], values)


class QuantizedView(View):
    """A view of a quantized buffer: mlx-lm's attention reads these two to choose its kernels."""

    def __init__(self, buffer: Buffer, at: Length, tree: Tree | None = None):
        super().__init__(buffer, at, tree)
        self.bits = buffer.bits
        self.group_size = KV_GROUP_SIZE


def views(
    entries: Iterable[Entry], at: Length, recurrent: Iterator[ArraysCache], tree: Tree | None = None
) -> list[Any]:
    """The model's caches for one pass; `recurrent` in place of each ArraysCache."""
    return [_view(entry, at, recurrent, tree) for entry in entries]


def _view(entry: Entry, at: Length, recurrent: Iterator[ArraysCache], tree: Tree | None) -> Any:
    if isinstance(entry, Buffer):
        return PlainView(entry, at, tree) if entry.bits is None else QuantizedView(entry, at, tree)
    if isinstance(entry, ArraysCache):
        return next(recurrent)
    return CacheList(*views(entry, at, recurrent, tree))


def _column(at: Length) -> mx.array:
    """`[b, 1]`, or `[1, 1]` where it is the same for all."""
    return mx.array([[at.value]]) if isinstance(at.value, int) else at.value[:, None]
