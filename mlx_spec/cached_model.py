"""A model of mlx-lm with its buffers, and the record of which tokens their rows belong to."""

import os
from collections.abc import Callable, Sequence

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float, Int

from mlx_spec.cache import CAPACITY_STEP, Buffer, Extent, make_buffers, view
from mlx_spec.errors import UnsupportedModel

PREFILL_CHUNK = 512
"""Prompt tokens per forward pass; progress is told after each."""

COMPILES = "MLX_DISABLE_COMPILE" not in os.environ
"""MLX's own switch: compiling for the CPU takes a C++ compiler at run time."""

Progress = Callable[[int, int], None]
"""Called with (tokens read, tokens to read). May raise to cancel."""

Rows = list[tuple[mx.array, ...]]
"""The arrays of every buffer."""


class CachedModel:
    """Target or draft model: both are fed, remembered and rewound the same way.

    `tokens[:seen]` are the tokens whose rows are valid. Going back is only a smaller `seen`.

    Raises:
        UnsupportedModel: the model keeps state that cannot be rewound, or its code needs to
            know its offset on the host.
    """

    def __init__(self, model: nn.Module, kv_bits: int | None = None):
        self.model = model
        self.buffers: list[Buffer] = make_buffers(model, kv_bits)
        self.clamps = False
        """Whether ids may lie beyond the embedding rows; such ids are read as the last row."""
        self.tokens: Sequence[int] = ()
        self.seen = 0
        self.vocab = self._probe(kv_bits)
        self._bounds = Extent.exact(0)
        self._compiled = mx.compile(self._pure)
        self.compiles = True
        """Whether decoding's passes are compiled: not where a model asks the device while it builds."""
        self.compiles = COMPILES and self._traces()
        self.buffers = make_buffers(model, kv_bits)

    def forward(self, ids: Int[mx.array, " n"], at: Extent) -> Float[mx.array, "n vocab"]:
        """Logits after each of `ids`, the first of which stands at position `at`. Lazy."""
        views = [view(buffer, at) for buffer in self.buffers]
        if self.clamps:
            ids = mx.minimum(ids, self.vocab - 1)
        return self.model(ids[None], cache=views)[0]

    def decode(self, ids: Int[mx.array, " n"], at: Extent) -> Float[mx.array, "n vocab"]:
        """`forward` for the passes of decoding, which recur: their graph is built once per width.

        Such a pass reads whole buffers and finds its place on the device, so that nothing in its
        graph changes from round to round until the buffers grow.
        """
        if not (self.compiles and all(buffer.arrays for buffer in self.buffers)):
            return self.forward(ids, at)
        for buffer in self.buffers:
            buffer.grow(at.high + ids.shape[0])
        low = at.low // CAPACITY_STEP * CAPACITY_STEP if any(b.window for b in self.buffers) else 0
        bounds = Extent(0, low, max(buffer.capacity for buffer in self.buffers))
        if bounds != self._bounds:
            # A new function, for the old one's graphs would never be used again.
            self._bounds, self._compiled = bounds, mx.compile(self._pure)
        start = mx.array([at.value], mx.int32) if isinstance(at.value, int) else at.value
        logits, rows = self._compiled(ids, start, [buffer.take() for buffer in self.buffers])
        self._hold(rows)
        return logits

    def _pure(self, ids: mx.array, start: mx.array, rows: Rows) -> tuple[mx.array, Rows]:
        """`forward` as a function of arrays alone, within `_bounds`."""
        self._hold(rows)
        logits = self.forward(ids, Extent(start, self._bounds.low, self._bounds.high - ids.shape[0]))
        return logits, [buffer.take() for buffer in self.buffers]

    def _hold(self, rows: Rows) -> None:
        for buffer, arrays in zip(self.buffers, rows, strict=True):
            buffer.arrays = arrays

    def prefill(self, tokens: Sequence[int], count: int, progress: Progress | None = None) -> int:
        """Bring the buffers to `tokens[:count]`, keeping the prefix they share with what is there.

        Returns:
            How many of the tokens did not need to be read again.
        """
        kept = min(self.shared(tokens), count)
        self.tokens, self.seen = tokens, kept
        while self.seen < count:
            stop = min(self.seen + PREFILL_CHUNK, count)
            self.forward(mx.array(list(tokens[self.seen : stop]), mx.int32), Extent.exact(self.seen))
            mx.eval([buffer.arrays for buffer in self.buffers])
            mx.clear_cache()
            self.seen = stop
            if progress:
                progress(stop - kept, count - kept)
        return kept

    def shared(self, tokens: Sequence[int]) -> int:
        """How many of the first tokens have their rows here."""
        return _common_prefix(self.tokens[: self.seen], tokens)

    def _probe(self, kv_bits: int | None) -> int:
        """Rows of the vocabulary, from a graph that is built and never run."""
        buffers = make_buffers(self.model, kv_bits)
        at = Extent(mx.array([1], mx.int32), 1, 2)
        try:
            logits = self.model(mx.zeros((1, 2), mx.int32), cache=[view(buffer, at) for buffer in buffers])
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            kind = type(self.model).__module__.rpartition(".")[2]
            raise UnsupportedModel(
                f"{kind} cannot run with a cache that rewinds ({error}). "
                "Use another model: `mlx-spec pairs` lists some that work."
            ) from error
        return logits.shape[-1]

    def _traces(self) -> bool:
        """Whether the graph of a pass can be built without the device; it is built and never run."""
        ids = mx.zeros((2,), mx.int32)
        try:
            self.forward(ids, Extent.exact(0))
            self.decode(ids, Extent(mx.array([1], mx.int32), 1, 2))
        except ValueError:
            return False  # MLX: "Attempting to eval an array during function transformations"
        return True


def _common_prefix(ours: Sequence[int], theirs: Sequence[int]) -> int:
    for i, (a, b) in enumerate(zip(ours, theirs, strict=False)):
        if a != b:
            return i
    return min(len(ours), len(theirs))
