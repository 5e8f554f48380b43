"""A model of mlx-lm with caches that can be rewound, and the record of which tokens their rows belong to."""

import os
from collections.abc import Callable, Collection, Iterable, Sequence

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache

from mlx_spec.arrays import Length, Output, Pass, Tree, Verdict
from mlx_spec.target.cache import buffers_in, capacity_for, make_entries, only
from mlx_spec.target.compiled import CompiledPasses
from mlx_spec.target.latent import attend_to_latents
from mlx_spec.target.positions import place_rows
from mlx_spec.target.probe import Probe
from mlx_spec.target.read_texts import ReadTexts
from mlx_spec.target.recording import States
from mlx_spec.target.recurrent import plain_caches, states_in
from mlx_spec.target.taps import Taps
from mlx_spec.target.view import views

PREFILL_CHUNK = 512
"""Prompt tokens per forward pass; progress is reported after each."""
WORTH_COPYING = 32
"""The fewest rows that are copied from another sequence; fewer are recomputed."""
COMPILES = "MLX_DISABLE_COMPILE" not in os.environ
"""MLX's own switch: compiling for the CPU takes a C++ compiler at run time."""

Progress = Callable[[int, int], None]
"""Called with (tokens read, tokens to read). May raise to cancel."""
Observe = Callable[[Pass, Output], None]
"""Called with each pass of a prefill."""
BufferArrays = list[tuple[mx.array, ...]]
"""The arrays of every buffer."""


class Model(ReadTexts):
    """Target or draft model: both are read, cached and rewound the same way.

    Rewinding only lowers `seen`; recurrent layers also need their states there (`recurrent.py`).

    Args:
        kv_bits: quantizes keys and values.
        taps: layers whose outputs every pass returns.

    Raises:
        UnsupportedModel: the model keeps state that cannot be rewound, or has no such layers, or its code
            does not give one state after each.
    """

    def __init__(self, model: nn.Module, kv_bits: int | None = None, taps: Sequence[int] = ()):
        super().__init__()
        self.model = model
        attend_to_latents(model)
        self.graphs_built = 0
        """By compiled passes; one that builds its graph takes longer than those after it."""
        self._probe = probe = Probe(model, kv_bits)
        self.vocab = probe.vocab
        self.lazy = probe.lazy
        """Whether a pass may start at a position that only the device knows."""
        self._clamps = False
        self.trees = False
        """Whether a pass may be a tree; set by `allow_trees`."""
        self._history = probe.history(self._replay)
        self.batches = self.lazy and self._history is None and probe.batches()
        """Whether it can read several sequences of different lengths at once."""
        self._taps = Taps(model, taps) if taps else None
        self._entries = make_entries(model, kv_bits)
        self.buffers = buffers_in(self._entries)
        self._lender: Model | None = None
        """The model whose rows it uses, if any."""
        self._passes = CompiledPasses(self._pure)
        if taps:  # built and never run: raises if the model's code does not give their states
            self._pass(mx.zeros((1, 2), mx.int32), Length.exact(0), self._plain_caches())
        self.compiles = True
        """Whether decoding's passes are compiled: not with recurrent layers, which record what they read,
        nor if a model's code reads values from the device."""
        self.compiles = COMPILES and self.lazy and self._history is None and self._traces()
        self.drop()

    @property
    def recurrent(self) -> bool:
        """Whether some layers can be resumed at a few places only."""
        return self._history is not None

    def allow_trees(self) -> None:
        """Set `trees`: whether its code can place the rows of a tree."""
        if self.lazy and not self.trees:
            place_rows(self.model)
            self.trees = self._probe.trees()

    def clamp(self) -> None:
        """Read ids beyond the embedding rows as the last row: MLX would read other memory."""
        self._clamps, self._passes = True, CompiledPasses(self._pure)  # graphs built before do not clamp

    def share(self, lender: "Model", layers: Collection[int]) -> None:
        """Use the rows of `lender` for these layers. It overwrites what is written there."""
        pairs = enumerate(zip(lender._entries, self._entries, strict=True))
        self._entries = [theirs if i in layers else own for i, (theirs, own) in pairs]
        self.buffers, self._lender = buffers_in(self._entries), lender

    def forward(self, p: Pass) -> Output:
        """Read the rows of `p`. Lazy.

        Rows before `p.start` are final: later passes begin there or later, unless `prefill` rewinds.
        """
        if self._history is None:
            return self._pass(p.ids, p.start, (), p.tree, p.hidden)
        self._history.go(p.start, p.ids.shape[1])
        return self._recorded(p.ids)

    def decode(self, p: Pass) -> Output:
        """`forward` for the passes of decoding: their graph is built once per width.

        Such a pass reads as many rows as `capacity_for` gives the text and takes its start as an array: its
        graph stays the same until the text outgrows these rows.
        """
        if not (self.compiles and any(buffer.arrays for buffer in self.buffers)):
            return self.forward(p)
        self._passes.fit(p, self.buffers)
        tree = (p.tree.parents, p.tree.depths, p.tree.visible) if p.tree else ()
        start = p.start.value
        if isinstance(start, int):
            start = mx.array([start] * len(p.ids), mx.int32)
        try:
            taken = [buffer.take() for buffer in self.buffers]
            output, rows = self._passes.run(p.ids, start, taken, tree, p.hidden)
            self._hold(rows)
        except BaseException:
            self.drop()  # the rows are in the failed graph, and the next pass would compute it again
            raise
        return Output(*output)

    def follow(self, p: Pass) -> Output:
        """`decode` right after a pass over several tokens; a later `forward` may rewind into both."""
        return self.decode(p) if self._history is None else self._recorded(p.ids)

    def commit(self, p: Pass, verdict: Verdict) -> None:
        """Move a tree's accepted rows together. Those of a chain already are; states are rewound later."""
        if p.tree is not None:
            for buffer in self.buffers:
                buffer.move(p.start.value, verdict.path)

    def drop(self) -> None:
        """Forget all that was read, and free its memory."""
        for buffer in self.buffers:
            buffer.drop()
        self.forget()
        if self._history is not None:
            self._history.forget()
        self._passes.reset()
        if self._lender is not None:
            self._lender.drop()

    def rearrange(self, order: Sequence[int]) -> None:
        """Hold `len(order)` sequences: sequence i is a copy of sequence `order[i]`."""
        for buffer in self.buffers if self._lender is None else ():
            buffer.rearrange(order)
        super().rearrange(order)

    def prefill(
        self, tokens: Sequence[int], count: int, sequence: int = 0, hidden: mx.array | None = None
    ) -> None:
        """Read `tokens[:count]` into one sequence, keeping its cached prefix.

        Args:
            hidden: `[b, positions, dim]`, features that a head reads beside the tokens.
        """
        self.resume(tokens, count, sequence)
        while self.seen[sequence] < count:
            self.read(min(self.seen[sequence] + PREFILL_CHUNK, count), None, sequence, hidden)
        self.mark()

    def read(
        self, stop: int, observe: Observe | None = None, sequence: int = 0, hidden: mx.array | None = None
    ) -> None:
        """One pass over the unread tokens of one sequence, up to `stop`. Waits for it."""
        first, tokens = self.seen[sequence], self.texts[sequence]
        ids = mx.array([list(tokens[first:stop])], mx.int32)
        beside = None if hidden is None else hidden[sequence : sequence + 1, first:stop]
        p = Pass(ids, Length.exact(first), sequence=sequence, hidden=beside)
        try:
            output = self._run(p, stop, sequence)
            if observe:
                observe(p, output)
        except BaseException:
            self.drop()
            raise
        if stop - first == PREFILL_CHUNK:  # smaller passes leave little memory, which is soon reused
            mx.clear_cache()
        self.seen[sequence] = stop

    def mark(self) -> None:
        """A prompt was read: later ones may resume here."""
        if self._history is not None:
            self._history.mark()

    def resume(self, tokens: Sequence[int], limit: int, sequence: int = 0) -> int:
        """Rewind to the furthest place in the cached prefix of `tokens`, at most `limit`, and return it."""
        kept = min(self.common(tokens, sequence), limit)
        if self._history is not None:
            kept = self._history.resume(kept)
            self.mark()
        self.texts[sequence], self.seen[sequence] = tokens, kept
        if len(self.texts) == 1 and capacity_for(len(tokens)) < self._passes.bounds.high:
            # After a longer text, or a calibration, passes would read too many rows.
            self._passes.reset()
            for buffer in self.buffers:
                buffer.cut(len(tokens))
        return kept

    def borrow(self, tokens: Sequence[int], sequence: int) -> None:
        """Copy the rows of a longer prefix of `tokens` from another sequence, if one has it."""
        shared = [self.common(tokens, i) for i in range(len(self.texts))]
        other = max(range(len(shared)), key=shared.__getitem__)
        if (count := shared[other]) >= shared[sequence] + WORTH_COPYING:
            for buffer in self.buffers:
                buffer.copy(other, sequence, count)
            self.texts[sequence], self.seen[sequence] = tokens, count

    def shared(self, tokens: Sequence[int], sequence: int = 0) -> int:
        """How many of the first tokens need not be read again."""
        common = self.common(tokens, sequence)
        return common if self._history is None else self._history.reach(common)

    def _pure(
        self,
        ids: mx.array,
        start: mx.array,
        rows: BufferArrays,
        tree: tuple[mx.array, ...],
        hidden: mx.array | None,
    ) -> tuple[tuple[mx.array, dict[int, mx.array]], BufferArrays]:
        """`forward` as a function of arrays alone. Run once per graph."""
        self.graphs_built += 1
        self._hold(rows)
        bounds = self._passes.bounds
        at = Length(start, bounds.low, bounds.high - ids.shape[1])
        output = self._pass(ids, at, (), Tree(*tree) if tree else None, hidden)
        return (output.logits, dict(output.hidden)), [buffer.take() for buffer in self.buffers]

    def _hold(self, rows: BufferArrays) -> None:
        for buffer, arrays in zip(self.buffers, rows, strict=True):
            buffer.arrays = arrays

    def _plain_caches(self) -> list[ArraysCache]:
        """The recurrent layers' states, for a pass that no rejection rewinds into."""
        return [] if self._history is None else plain_caches(self._history.now.after(0))

    def _run(self, p: Pass, stop: int, sequence: int) -> Output:
        """A pass over one sequence up to `stop`, evaluated; a rejection does not rewind into it."""
        caches = self._plain_caches()
        with only(self.buffers, sequence, len(self.texts), stop):
            output = self._pass(p.ids, p.start, caches, hidden=p.hidden)
            states = states_in(caches)
            mx.eval(states, [buffer.arrays for buffer in self.buffers])
        if self._history is not None:
            self._history.restart(stop, states)
        return output

    def _recorded(self, ids: mx.array) -> Output:
        """A pass right after the last one; a rejection may rewind into it."""
        assert self._history is not None
        now = self._history.now
        caches = now.caches(ids.shape[1])
        output = self._pass(ids, now.at.plus(now.rows), caches)
        now.read(ids, caches)
        return output

    def _replay(self, ids: mx.array, at: Length, states: States) -> States:
        """The recurrent states after reading `ids` at `at`, where they were `states`."""
        caches = plain_caches(states)
        self._pass(ids, at, caches)
        return states_in(caches)

    def _pass(
        self,
        ids: mx.array,
        at: Length,
        recurrent: Iterable[ArraysCache],
        tree: Tree | None = None,
        hidden: mx.array | None = None,
    ) -> Output:
        if self._clamps:
            ids = mx.minimum(ids, self.vocab - 1)
        if self._taps:
            self._taps.begin()
        beside = {} if hidden is None else {"hidden": hidden}
        logits = self.model(ids, cache=views(self._entries, at, iter(recurrent), tree), **beside)
        return Output(logits, self._taps.take() if self._taps else {})

    def _traces(self) -> bool:
        """Whether the graph of a pass can be built without the device; it is built and never run."""
        ids = mx.zeros((1, 2), mx.int32)
        try:
            self.forward(Pass(ids, Length.exact(0)))
            self.decode(Pass(ids, Length(mx.array([1], mx.int32), 1, 2)))
        except ValueError:
            return False  # MLX: "Attempting to eval an array during function transformations"
        return True
