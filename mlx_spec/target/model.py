"""A model of mlx-lm with its buffers, and the record of which tokens their rows belong to."""

import os
from collections.abc import Callable, Iterable, Sequence

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float, Int
from mlx_lm.models.cache import ArraysCache

from mlx_spec.target.cache import CAPACITY_STEP, Extent, buffers_in, capacity_for, make_entries, views
from mlx_spec.target.probe import Probe
from mlx_spec.target.recording import States
from mlx_spec.target.recurrent import plain_caches, states_in

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

    `tokens[:seen]` are the tokens whose rows are valid. Going back is only a smaller `seen`, and
    for recurrent layers also the states there (`recurrent.py`).

    Raises:
        UnsupportedModel: the model keeps state that cannot be rewound.
    """

    def __init__(self, model: nn.Module, kv_bits: int | None = None):
        self.model = model
        self.clamps = False
        """Whether ids may lie beyond the embedding rows; such ids are read as the last row."""
        self.tokens: Sequence[int] = ()
        self.seen = 0
        self.graphs_built = 0
        """By compiled passes; one that builds its graph takes longer than those after it."""
        probe = Probe(model, kv_bits)
        self.vocab = probe.vocab
        self.lazy = probe.lazy
        """Whether a pass may begin where only the device knows."""
        self._past = probe.past(self._replay)
        self._entries = make_entries(model, kv_bits)
        self.buffers = buffers_in(self._entries)
        self._bounds = Extent.exact(0)
        self._compiled = mx.compile(self._pure)
        self._short_passes: dict[int, Callable[..., tuple[mx.array, Rows]]] = {}
        """By the rows they read, all there are."""
        self.compiles = True
        """Whether decoding's passes are compiled: not with recurrent layers, which record what they read,
        nor where a model asks the device while it builds."""
        self.compiles = COMPILES and self.lazy and self._past is None and self._traces()
        self._entries = make_entries(model, kv_bits)
        self.buffers = buffers_in(self._entries)

    @property
    def recurrent(self) -> bool:
        """Whether some layers can be gone on from at a few places only."""
        return self._past is not None

    def forward(self, ids: Int[mx.array, " n"], at: Extent) -> Float[mx.array, "n vocab"]:
        """Logits after each of `ids`, the first of which stands at position `at`. Lazy.

        What stands before `at` is final: later passes begin there or later, unless `prefill` goes back.
        """
        if self._past is None:
            return self._pass(ids, at, ())
        self._past.go(at, ids.shape[0])
        return self._recorded(ids)

    def decode(self, ids: Int[mx.array, " n"], at: Extent) -> Float[mx.array, "n vocab"]:
        """`forward` for the passes of decoding, which recur: their graph is built once per width.

        Such a pass reads as many rows as `capacity_for` gives the text and finds its place on the device, so
        that nothing in its graph changes from round to round until the text has grown past them.
        """
        if not (self.compiles and all(buffer.arrays for buffer in self.buffers)):
            return self.forward(ids, at)
        needed = capacity_for(at.high + ids.shape[0])
        low = at.low // CAPACITY_STEP * CAPACITY_STEP if any(b.window for b in self.buffers) else 0
        if low != self._bounds.low or self._bounds.high < needed:
            self._bounds = Extent(0, low, needed)
            self._compiled = self._short_passes.get(needed) or mx.compile(self._pure)
            if needed <= CAPACITY_STEP:
                # Texts begin short again and again; the graphs of longer ones would hardly be used again.
                self._short_passes[needed] = self._compiled
        for buffer in self.buffers:
            buffer.grow(self._bounds.high)
        start = mx.array([at.value], mx.int32) if isinstance(at.value, int) else at.value
        try:
            logits, rows = self._compiled(ids, start, [buffer.take() for buffer in self.buffers])
        except BaseException:
            # The rows were given away, and what a graph that was not finished left here is none.
            self.drop()
            raise
        self._hold(rows)
        return logits

    def drop(self) -> None:
        """Forget all that was read, and the memory for it."""
        for buffer in self.buffers:
            buffer.drop()
        self.seen, self._bounds = 0, Extent.exact(0)

    def follow(self, ids: Int[mx.array, " n"], at: Extent) -> Float[mx.array, "n vocab"]:
        """`decode` right after a pass over several tokens; the next of the others may go back into both."""
        return self.decode(ids, at) if self._past is None else self._recorded(ids)

    def _pure(self, ids: mx.array, start: mx.array, rows: Rows) -> tuple[mx.array, Rows]:
        """`forward` as a function of arrays alone, within `_bounds`. Run once per graph."""
        self.graphs_built += 1
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
        kept = self.resume(tokens, count)
        while self.seen < count:
            stop = min(self.seen + PREFILL_CHUNK, count)
            self._read(mx.array(list(tokens[self.seen : stop]), mx.int32))
            if stop - self.seen == PREFILL_CHUNK:  # less leaves little, and the next pass wants it again
                mx.clear_cache()
            self.seen = stop
            if progress:
                progress(stop - kept, count - kept)
        if self._past is not None:
            self._past.mark()
        return kept

    def resume(self, tokens: Sequence[int], limit: int) -> int:
        """Go back to the furthest place up to `limit` that stands in `tokens` too, and say where it is."""
        kept = min(_common_prefix(self.tokens[: self.seen], tokens), limit)
        if self._past is not None:
            kept = self._past.resume(kept)
            self._past.mark()
        self.tokens, self.seen = tokens, kept
        if capacity_for(len(tokens)) < self._bounds.high:
            # After a longer text, or a calibration, passes would read all the rows there are.
            self._bounds = Extent.exact(0)
            for buffer in self.buffers:
                buffer.cut(len(tokens))
        return kept

    @property
    def can_assume(self) -> bool:
        """Whether `assume` does anything: recurrent states have to be read up to their place."""
        return self._past is None

    def assume(self, tokens: Sequence[int]) -> None:
        """Act as if `tokens` had been read; their rows hold whatever they do."""
        if self.can_assume:
            self.tokens, self.seen = tokens, len(tokens)

    def shared(self, tokens: Sequence[int]) -> int:
        """How many of the first tokens need not be read again."""
        common = _common_prefix(self.tokens[: self.seen], tokens)
        return common if self._past is None else self._past.reach(common)

    def _read(self, ids: mx.array) -> None:
        """A pass right after `tokens[:seen]`, evaluated, that no rejection goes back into."""
        at = Extent.exact(self.seen)
        if self._past is None:
            self._pass(ids, at, ())
        else:
            states = self._replay(ids, at, self._past.now.after(0))
            self._past.stand(self.seen + ids.shape[0], states)
            mx.eval(states)
        mx.eval([buffer.arrays for buffer in self.buffers])

    def _recorded(self, ids: mx.array) -> mx.array:
        """A pass right after the last one, which a rejection may go back into."""
        assert self._past is not None
        stretch = self._past.now
        caches = stretch.caches(ids.shape[0])
        logits = self._pass(ids, stretch.at.plus(stretch.rows), caches)
        stretch.read(ids, caches)
        return logits

    def _replay(self, ids: mx.array, at: Extent, states: States) -> States:
        """The recurrent states after `ids`, read from `at` on, where they were `states`."""
        caches = plain_caches(states)
        self._pass(ids, at, caches)
        return states_in(caches)

    def _pass(self, ids: mx.array, at: Extent, recurrent: Iterable[ArraysCache]) -> mx.array:
        if self.clamps:
            ids = mx.minimum(ids, self.vocab - 1)
        return self.model(ids[None], cache=views(self._entries, at, iter(recurrent)))[0]

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
