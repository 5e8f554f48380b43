"""Drafters that read features of the target: a head with its own cache, and the features that it reads.

Row t of the head reads the features of position t, kept from every pass of the target, prefill too, and the
token after it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mlx.core as mx

from mlx_spec.arrays import Draft, Length, Output, Pass, Verdict, put_rows, rearranged, take_rows
from mlx_spec.drafters import Context, Shadow, Texts
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.target.cache import CAPACITY_STEP, round_up
from mlx_spec.target.read_texts import ReadTexts
from mlx_spec.verify.batch import Proposer
from mlx_spec.verify.copies import Copying

WAITING = 32
"""Plain rounds whose features are made together, at most: made in each, they would take a pass over the
weights that make them."""


class FeatureDrafter(ModelDrafter):
    """A head with `features`, `width` wide, of the layers `taps` of the target, and rows of its own."""

    skipped = 1  # row 0 reads the second token
    left = 0
    reads_again = True

    def __init__(self, head: Any):
        super().__init__(head)
        self.cached.vocab = head.vocab  # its rows are no logits
        self.head, self.taps = head, tuple(head.taps)
        self._features = mx.zeros((1, 0, head.width))
        """`[b, capacity, dim]`, features of each position that the target has read."""
        self._kept = ReadTexts()
        """The tokens of these positions."""
        self._waiting: list[tuple[Length, list[mx.array]]] = []
        """Position and tapped states, `[b, 1, dim]` each, of plain rounds one after another, whose features
        are not made yet."""

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        self._make()
        for i, seen in enumerate(self.given_to.seen if self.given_to else ()):
            self._kept.overwrite(seen, i)  # rounds make features from there on, also at free places
            self.cached.overwrite(seen, i)
        super().begin(texts, documents)

    def rearrange(self, order: Sequence[int]) -> None:
        self._make()
        super().rearrange(order)
        self._features = rearranged(self._features, order)
        self._kept.rearrange(order)

    def drop(self) -> None:
        super().drop()
        self._waiting = []
        self._kept.forget()
        self._features = mx.zeros((len(self._kept.seen), 0, self.head.width))

    def reusable(self, tokens: Sequence[int], place: int) -> int:
        return self._kept.common(tokens, place)

    def pretend(self, tokens: Sequence[int]) -> None:
        super().pretend(tokens)
        self._kept.read_to(tokens, len(tokens))

    def draft(self, context: Context, depth: int, verifier: Proposer) -> Draft:
        self._make()
        return super().draft(context, depth, Copying(verifier, context.tokens, context.length))

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        states = [output.hidden[layer] for layer in self.taps]
        if verdict is not None and p.ids.shape[1] == 1:
            self._waiting.append((p.start, states))
            if len(self._waiting) == WAITING:
                self._make()
        else:
            self._make()
            self._write(p, states, verdict)
        super().observe(p, output, verdict)

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        if not self._waiting:
            mx.async_eval(self._features)  # or the graph would grow while others draft
        for i, text in enumerate(texts):
            if text:
                self._kept.read_to(text, len(text) - 1, i)
        return super().commit(texts)

    def _borrow(self, text: Sequence[int], sequence: int) -> None:
        # After another first token, which is not among its own, the features are others.
        if {read[0] for read in self._kept.texts if read} == {text[0]}:
            super()._borrow(text, sequence)

    def _prefill(self, text: Sequence[int], count: int, sequence: int) -> None:
        self.cached.prefill(text, count, sequence=sequence, hidden=self._features)

    def _first(self, context: Context) -> Pass:
        p = super()._first(context)
        return replace(p, hidden=take_rows(self._features, p.start.value, p.ids.shape[1]))

    def _logits(self, output: Output, rows: slice) -> mx.array:
        return self.head.logits(output.logits[:, rows])

    def _make(self) -> None:
        """Make the features that wait."""
        if self._waiting:
            layers = zip(*(states for _, states in self._waiting), strict=True)
            together = [mx.concatenate(list(layer), axis=1) for layer in layers]
            self._put(self._waiting[0][0], self.head.features(together))
            self._waiting = []  # not before: those of an interrupted call are made by the next

    def _write(self, p: Pass, states: list[mx.array], verdict: Verdict | None) -> None:
        """Make the features of a pass."""
        rows = self.head.features(states)
        if p.tree is not None and verdict is not None:
            rows = mx.take_along_axis(rows, verdict.path[:, :, None], axis=1)
        if p.sequence is None:
            self._put(p.start, rows)
            return
        first, end = p.sequence, p.start.high + rows.shape[1]
        self._reserve(first + 1, end, rows.dtype)
        self.cached.overwrite(p.start.high, first)  # its rows there read other features: row 0 lacks a token
        self._features[first : first + 1, p.start.high : end] = rows
        ids: list[int] = p.ids[0].tolist()  # type: ignore[assignment]
        self._kept.read_on(ids, p.start.high, first)

    def _put(self, start: Length, rows: mx.array) -> None:
        self._reserve(len(rows), start.high + rows.shape[1], rows.dtype)
        self._features = put_rows(self._features, rows, start.value, axis=1)

    def _reserve(self, sequences: int, end: int, dtype: mx.Dtype) -> None:
        b, capacity, _ = self._features.shape
        more = max(0, round_up(end, CAPACITY_STEP) - capacity)
        if more or sequences > b:
            widths = [(0, max(0, sequences - b)), (0, more), (0, 0)]
            self._features = mx.pad(self._features.astype(dtype), widths)
