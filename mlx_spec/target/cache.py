"""Key-value buffers addressed by position, so that going back is only a smaller offset.

One buffer per attention layer; a model sees it through a view made for one forward pass. Rows
behind the offset may be stale (rejected drafts): no mask ever shows them, and the next pass
overwrites them. Sliding windows keep every row and read only the window (docs/decisions/0002).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
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

from mlx_spec.errors import UnsupportedModel

CAPACITY_STEP = 256
"""Rows a buffer grows by, once it has as many."""
VIEW_STEP = 64
"""A view whose length the host only knows bounds of is rounded up to this many rows.

It divides every capacity, so a rounded view never reaches past the buffer.
"""
KV_GROUP_SIZE = 64
"""Values that share a scale in a quantized buffer."""


@dataclass(frozen=True, slots=True)
class Extent:
    """A count of tokens the device knows and the host may only know bounds of."""

    value: int | mx.array
    """The count: an int when `low == high`, else an int32 array of shape [1] on the device."""
    low: int
    high: int

    @classmethod
    def exact(cls, count: int) -> "Extent":
        """A count that the host knows."""
        return cls(count, count, count)

    def plus(self, count: int) -> "Extent":
        """So many more; fewer where `count` is negative."""
        return Extent(self.value + count, self.low + count, self.high + count)


class Buffer:
    """Keys and values of one layer: `[1, heads, capacity, dim]`, plain or quantized.

    A quantized buffer holds (packed, scales, biases) for each of the two, as mlx-lm's attention
    expects them.
    """

    def __init__(self, window: int | None = None, bits: int | None = None):
        self.window = window
        self.bits = bits
        self.capacity = 0
        self.arrays: tuple[mx.array, ...] = ()

    def reserve(self, keys: mx.array, values: mx.array, end: int) -> None:
        """Make room for rows `[0, end)`; never shrinks."""
        if not self.arrays:
            shaped = (*self._encode(keys[:, :, :1]), *self._encode(values[:, :, :1]))
            self.arrays = tuple(mx.zeros((*x.shape[:2], 0, x.shape[3]), x.dtype) for x in shaped)
        self.grow(end)

    def grow(self, end: int) -> None:
        """Make room for rows `[0, end)` in a buffer that was written before; never shrinks."""
        if end <= self.capacity:
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
        """As it was before anything was written."""
        self.capacity, self.arrays = 0, ()

    def write(self, keys: mx.array, values: mx.array, start: int | mx.array, end: int) -> None:
        """Write rows from `start` on, in place where nothing else holds the buffer.

        `keys` and `values` are `[1, heads, rows, dim]`, not quantized. `end` bounds the last row written
        plus one: MLX checks no bounds of a start on the device.
        """
        self.reserve(keys, values, end)
        new = (*self._encode(keys), *self._encode(values))
        if isinstance(start, int):
            for old, rows in zip(self.arrays, new, strict=True):
                old[:, :, start:end] = rows
            return
        self.arrays = tuple(
            mx.slice_update(old, rows, start, axes=(2,)) for old, rows in zip(self.arrays, new, strict=True)
        )

    def read(self, first: int, last: int) -> tuple[Any, Any]:
        """Keys and values of rows `[first, last)`, `[1, heads, rows, dim]` each: views, no copy.

        Of a quantized buffer each is (packed, scales, biases).
        """
        rows = [x[:, :, first:last] for x in self.arrays]
        if self.bits is None:
            return rows[0], rows[1]
        return tuple(rows[:3]), tuple(rows[3:])

    def _encode(self, x: mx.array) -> tuple[mx.array, ...]:
        if self.bits is None:
            return (x,)
        return tuple(mx.quantize(x, group_size=KV_GROUP_SIZE, bits=self.bits))


class View:
    """What a model of mlx-lm takes for its cache, for one forward pass.

    When the host knows the offset exactly, reads are exact slices and the mask is the fused
    kernels' own; else the view ends at the upper bound and a mask built on the device hides the rest.
    """

    def __init__(self, buffer: Buffer, at: Extent):
        self.buffer = buffer
        self.at = at
        self.offset = at.value

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[Any, Any]:
        """mlx-lm's contract: write a pass's rows, `[1, heads, rows, dim]` each; read all it may look at."""
        start, count = self.at, keys.shape[2]
        self.buffer.write(keys, values, start.value, start.high + count)
        self.offset = start.value + count
        self._read = self._first(), self._last(count)
        return self.keys_and_values()

    def keys_and_values(self) -> tuple[Any, Any]:
        """mlx-lm's contract: what `update_and_fetch` returned, for layers that share a cache."""
        return self.buffer.read(*self._read)

    start_position = 0
    """mlx-lm's chunked attention: the first row that is kept."""

    def maybe_trim_front(self) -> None:
        """mlx-lm's chunked attention, before each pass: every row is kept, its mask picks the chunk."""

    def make_mask(self, N: int, return_array: bool = False, window_size: int | None = None) -> Any:
        """mlx-lm's contract: None, "causal", or a boolean `[N, rows read]`."""
        first, last = self._first(), self._last(N)
        windows = [w for w in (window_size, self.buffer.window) if w]
        window = min(windows, default=None)
        exact = isinstance(self.at.value, int)
        if exact and (window is None or last - first <= window):
            if N == 1:
                return None
            if not return_array:
                return "causal"
        queries = self.at.value + mx.arange(N)[:, None]
        rows = mx.arange(first, last)[None]
        mask = rows <= queries
        return mask if window is None else mask & (rows > queries - window)

    def _first(self) -> int:
        if self.buffer.window is None:
            return 0
        first = max(0, self.at.low + 1 - self.buffer.window)
        return first if isinstance(self.at.value, int) else first // VIEW_STEP * VIEW_STEP

    def _last(self, count: int) -> int:
        last = self.at.high + count
        return last if isinstance(self.at.value, int) else round_up(last, VIEW_STEP)


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

    def __init__(self, buffer: Buffer, at: Extent):
        super().__init__(buffer, at)
        self.bits = buffer.bits
        self.group_size = KV_GROUP_SIZE


Entry = Buffer | ArraysCache | tuple["Entry", ...]
"""What stands for one of a model's caches: an ArraysCache stands for itself, a tuple for a CacheList."""


def make_entries(model: nn.Module, bits: int | None = None) -> list[Entry]:
    """One entry per cache the model asks for (models that share keys and values ask for fewer).

    Raises:
        UnsupportedModel: a layer keeps its state in a cache of its own kind.
    """
    return [_entry_for(model, cache, bits) for cache in make_prompt_cache(model)]


def leaves(entries: Iterable[Entry]) -> Iterator[Buffer | ArraysCache]:
    """What the entries are made of, in the model's order."""
    for entry in entries:
        if isinstance(entry, tuple):
            yield from leaves(entry)
        else:
            yield entry


def buffers_in(entries: Iterable[Entry]) -> list[Buffer]:
    """Those of the leaves that hold keys and values."""
    return [entry for entry in leaves(entries) if isinstance(entry, Buffer)]


def views(entries: Iterable[Entry], at: Extent, recurrent: Iterator[ArraysCache]) -> list[Any]:
    """What the model takes for its caches in one pass; `recurrent` in place of each ArraysCache."""
    return [_view(entry, at, recurrent) for entry in entries]


def _view(entry: Entry, at: Extent, recurrent: Iterator[ArraysCache]) -> Any:
    if isinstance(entry, tuple):
        return CacheList(*views(entry, at, recurrent))
    if isinstance(entry, ArraysCache):
        return next(recurrent)
    return PlainView(entry, at) if entry.bits is None else QuantizedView(entry, at)


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


def capacity_for(rows: int) -> int:
    """The capacity of a buffer that has to hold so many: 64, 128, 256 and then steps of 256.

    Few at first, for compiled passes read all of them, and on the CPU backend attention to 256 rows takes up
    to twice as long as to 128.
    """
    if rows > CAPACITY_STEP:
        return round_up(rows, CAPACITY_STEP)
    return next(size for size in (VIEW_STEP, 2 * VIEW_STEP, CAPACITY_STEP) if rows <= size)


def round_up(count: int, step: int) -> int:
    """The first multiple of `step` that is no less than `count`."""
    return -(-count // step) * step
