"""Drafters that read features of the target: a head with its own cache, and the features that it reads.

Row t of the head reads the features of position t, kept from every pass of the target, prefill too, and the
token after it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import mlx.core as mx

from mlx_spec.arrays import Draft, Output, Pass, Verdict, put_rows, rearranged, take_rows
from mlx_spec.drafters import Context, Shadow, Texts
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.target.cache import CAPACITY_STEP, round_up
from mlx_spec.target.read_texts import ReadTexts
from mlx_spec.verify.batch import Proposer
from mlx_spec.verify.copies import Copying


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

    def rearrange(self, order: Sequence[int]) -> None:
        super().rearrange(order)
        self._features = rearranged(self._features, order)
        self._kept.rearrange(order)

    def known(self, tokens: Sequence[int], place: int) -> int:
        return self._kept.common(tokens, place)

    def pretend(self, tokens: Sequence[int]) -> None:
        super().pretend(tokens)
        self._kept.read_to(tokens, len(tokens))

    def draft(self, context: Context, depth: int, verifier: Proposer) -> Draft:
        return super().draft(context, depth, Copying(verifier, context.tokens, context.length))

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        rows = self.head.features([output.hidden[layer] for layer in self.taps])
        if p.tree is not None and verdict is not None:
            rows = mx.take_along_axis(rows, verdict.path[:, :, None], axis=1)
        first = p.sequence or 0
        self._reserve(first + len(rows), p.start.high + rows.shape[1], rows.dtype)
        if p.sequence is None:
            self._features = put_rows(self._features, rows, p.start.value, axis=1)
        else:
            self._features[first : first + 1, p.start.high : p.start.high + rows.shape[1]] = rows
            ids: list[int] = p.ids[0].tolist()  # type: ignore[assignment]
            self._kept.read_on(ids, p.start.high, first)
        super().observe(p, output, verdict)

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        mx.async_eval(self._features)  # or the graph would grow while others draft
        for i, text in enumerate(texts):
            if text:
                self._kept.read_to(text, len(text) - 1, i)
        return super().commit(texts)

    def _prefill(self, text: Sequence[int], count: int, sequence: int) -> None:
        self.cached.prefill(text, count, sequence=sequence, hidden=self._features)

    def _first(self, context: Context) -> Pass:
        p = super()._first(context)
        return replace(p, hidden=take_rows(self._features, p.start.value, p.ids.shape[1]))

    def _logits(self, output: Output, rows: slice) -> mx.array:
        return self.head.logits(output.logits[:, rows])

    def _reserve(self, sequences: int, end: int, dtype: mx.Dtype) -> None:
        b, capacity, _ = self._features.shape
        more = max(0, round_up(end, CAPACITY_STEP) - capacity)
        if more or sequences > b:
            widths = [(0, max(0, sequences - b)), (0, more), (0, 0)]
            self._features = mx.pad(self._features.astype(dtype), widths)
