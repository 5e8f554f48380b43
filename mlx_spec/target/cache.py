"""Key-value buffers addressed by position, so that rewinding is only a smaller offset.

One buffer per attention layer; a model sees it through a view made for one forward pass. Rows
from the offset on may be stale (rejected drafts): no mask ever shows them, and the next pass
overwrites them. Sliding windows keep every row and read only the window (docs/decisions/0002).
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import (
    ArraysCache,
    CacheList,
    ChunkedKVCache,
    KVCache,
    RotatingKVCache,
    make_prompt_cache,
)

from mlx_spec.arrays import put_rows, rearranged
from mlx_spec.errors import UnsupportedModel

CAPACITY_STEP = 256
"""Rows a buffer grows by, once it has as many."""
VIEW_STEP = 64
"""A view whose length the host only knows bounds of is rounded up to this many rows.

It divides every capacity, so a rounded view never reaches past the buffer.
"""
KV_GROUP_SIZE = 64
"""Values that share a scale in a quantized buffer."""


class Buffer:
    """Keys and values of one layer: `[b, heads, capacity, dim]`, plain or quantized.

    A quantized buffer holds (packed, scales, biases) for each of the two, as mlx-lm's attention
    expects them.
    """

    def __init__(self, window: int | None = None, bits: int | None = None):
        self.window = window
        self.bits = bits
        self.capacity = 0
        self.arrays: tuple[mx.array, ...] = ()

    def grow(self, end: int) -> None:
        """Make room for rows `[0, end)`, once it was written; never shrinks."""
        if not self.arrays or end <= self.capacity:
            return
        more = capacity_for(end) - self.capacity
        self.arrays = tuple(
            mx.concatenate([x, mx.zeros((*x.shape[:2], more, x.shape[3]), x.dtype)], axis=2)
            for x in self.arrays
        )
        self.capacity += more

    def cut(self, end: int) -> None:
        """Give the memory of rows from `end` on back, as far as whole steps of capacity go."""
        if self.capacity > capacity_for(end):
            self.capacity = capacity_for(end)
            self.arrays = tuple(mx.contiguous(x[:, :, : self.capacity]) for x in self.arrays)

    def take(self) -> tuple[mx.array, ...]:
        """The arrays, no longer held here: what is computed from them may take their place in memory."""
        arrays, self.arrays = self.arrays, ()
        return arrays

    def drop(self) -> None:
        """Drop all rows."""
        self.capacity, self.arrays = 0, ()

    def write(self, keys: mx.array, values: mx.array, start: int | mx.array, end: int) -> None:
        """Write rows from `start` on, in place where nothing else holds the buffer.

        `keys` and `values` are `[b, heads, rows, dim]`, not quantized. `end` bounds the last row written
        plus one: MLX checks no bounds of a start on the device.
        """
        new = (keys, values) if self.bits is None else (*self._encode(keys), *self._encode(values))
        if not self.arrays:
            self.arrays = tuple(mx.zeros((*x.shape[:2], 0, x.shape[3]), x.dtype) for x in new)
        self.grow(end)
        pairs = zip(self.arrays, new, strict=True)
        self.arrays = tuple([put_rows(old, rows, start, axis=2) for old, rows in pairs])

    def move(self, start: int | mx.array, path: mx.array) -> None:
        """Bring the rows `start + path`, path `[b, count]`, together at `start`."""
        starts = mx.array([start]) if isinstance(start, int) else start
        places = (starts[:, None] + path)[:, None, :, None]

        def moved(x: mx.array) -> mx.array:
            all_of = mx.broadcast_to(places, (*x.shape[:2], path.shape[1], x.shape[3]))
            return put_rows(x, mx.take_along_axis(x, all_of, axis=2), start, axis=2)

        self.arrays = tuple(map(moved, self.arrays))

    def copy(self, source: int, sequence: int, count: int) -> None:
        """Give one sequence the first `count` rows of another."""
        for x in self.arrays:
            x[sequence, :, :count] = x[source, :, :count]

    def rearrange(self, order: Sequence[int]) -> None:
        """Sequence i becomes a copy of sequence `order[i]`."""
        self.arrays = tuple(rearranged(x, order) for x in self.arrays)
        mx.eval(self.arrays)  # one layer at a time: the old rows are given back before the next is copied

    def read(self, first: int, last: int) -> tuple[Any, Any]:
        """Keys and values of rows `[first, last)`, `[b, heads, rows, dim]` each: views, no copy.

        Of a quantized buffer each is (packed, scales, biases).
        """
        rows = [x[:, :, first:last] for x in self.arrays]
        if self.bits is None:
            return rows[0], rows[1]
        return tuple(rows[:3]), tuple(rows[3:])

    def _encode(self, x: mx.array) -> tuple[mx.array, ...]:
        return tuple(mx.quantize(x, group_size=KV_GROUP_SIZE, bits=self.bits))


Entry = Buffer | ArraysCache | tuple["Entry", ...]
"""Stands for one of a model's caches: a tuple for a CacheList."""


def make_entries(model: nn.Module, bits: int | None = None) -> list[Entry]:
    """One entry per cache the model asks for (models that share keys and values ask for fewer).

    Raises:
        UnsupportedModel: a layer keeps its state in another kind of cache.
    """
    return [_entry_for(model, cache, bits) for cache in make_prompt_cache(model)]


def leaves(entries: Iterable[Entry]) -> Iterator[Buffer | ArraysCache]:
    """The parts of all entries, in the model's order."""
    for entry in entries:
        if isinstance(entry, tuple):
            yield from leaves(entry)
        else:
            yield entry


def buffers_in(entries: Iterable[Entry]) -> list[Buffer]:
    """The leaves that hold keys and values."""
    return [entry for entry in leaves(entries) if isinstance(entry, Buffer)]


def _entry_for(model: nn.Module, cache: Any, bits: int | None) -> Entry:
    if type(cache) is CacheList:
        return tuple(_entry_for(model, each, bits) for each in cache.caches)
    if type(cache) is ArraysCache:
        return cache
    if type(cache) in (KVCache, ChunkedKVCache):
        return Buffer(bits=bits)
    if type(cache) is RotatingKVCache and cache.keep == 0:
        return Buffer(window=cache.max_size, bits=bits)
    raise UnsupportedModel(
        f"A layer of {type(model).__module__.rpartition('.')[2]} keeps its state in a "
        f"{type(cache).__name__}, which cannot go back after a rejected draft. "
        "Use another model: `mlx-spec pairs` lists some that work."
    )


@contextmanager
def only(buffers: Sequence[Buffer], sequence: int, count: int, end: int) -> Iterator[None]:
    """Meanwhile, let buffers of `count` sequences hold the rows of one only, with room for `end`."""
    if count == 1:
        yield
        return
    for buffer in buffers:
        buffer.grow(end)
    whole = [buffer.arrays for buffer in buffers]
    for buffer in buffers:
        buffer.arrays = tuple(x[sequence : sequence + 1] for x in buffer.arrays)
    try:
        yield
    finally:
        for buffer, arrays in zip(buffers, whole, strict=True):
            read = buffer.arrays
            buffer.arrays = arrays or tuple(mx.zeros((count, *x.shape[1:]), x.dtype) for x in read)
            for old, one in zip(buffer.arrays, read, strict=True):
                old[sequence : sequence + 1] = one


def capacity_for(rows: int) -> int:
    """The capacity of a buffer for `rows`: 64, 128, 256 and then steps of 256.

    Few at first, for compiled passes read all of them, and on the CPU backend attention to 256 rows takes up
    to twice as long as to 128.
    """
    if rows > CAPACITY_STEP:
        return round_up(rows, CAPACITY_STEP)
    return next(size for size in (VIEW_STEP, 2 * VIEW_STEP, CAPACITY_STEP) if rows <= size)


def round_up(count: int, step: int) -> int:
    """The first multiple of `step` that is no less than `count`."""
    return -(-count // step) * step
