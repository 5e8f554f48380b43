"""A head on the target's hidden states drafts (EAGLE-3, Li et al. 2025, arXiv 2503.01840).

Its row t reads the token after position t and what the target made of position t, which is noted of every
pass. What it drafted is read again once it is accepted, then with what the target made of it.
"""

from collections.abc import Sequence
from dataclasses import replace

import mlx.core as mx

from mlx_spec.arrays import Output, Pass, Verdict, put_rows, take_rows
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Shadow, Texts
from mlx_spec.drafters.eagle_head import EagleHead
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.target.cache import CAPACITY_STEP, round_up

LIMIT = 7
"""Heads are trained a few steps deep: the rows that they read of themselves become vaguer."""


class EagleDrafter(ModelDrafter):
    """A head that was made for the target."""

    name = "eagle"
    candidate = Candidate("eagle", kind="eagle", prior=0.6, limit=LIMIT)
    skipped = 1  # row 0 reads the second token
    left = 0
    usual_lag = 1 + LIMIT
    reads_again = True

    def __init__(self, head: EagleHead):
        super().__init__(head)
        self.cached.vocab = head.shape.args.vocab_size  # its rows are no logits
        self.head = head
        self.taps = head.shape.taps
        self._features = mx.zeros((1, 0, head.shape.args.hidden_size))
        """`[b, capacity, dim]`, what the target made of each position that it has read."""

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
        super().observe(p, output, verdict)

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        mx.async_eval(self._features)  # or the graph would grow while others draft
        return super().commit(texts)

    def _prefill(self, text: Sequence[int], count: int, sequence: int) -> None:
        self.cached.prefill(text, count, sequence=sequence, hidden=self._features)

    def _first(self, context: Context) -> Pass:
        p = super()._first(context)
        return replace(p, hidden=take_rows(self._features, p.start.value, p.ids.shape[1], axis=1))

    def _next(self, p: Pass, ids: mx.array, output: Output) -> Pass:
        return replace(super()._next(p, ids, output), hidden=output.logits[:, -1:])

    def _logits(self, output: Output, rows: slice) -> mx.array:
        return self.head.logits(output.logits[:, rows])

    def _reserve(self, sequences: int, end: int, dtype: mx.Dtype) -> None:
        b, capacity, _ = self._features.shape
        more = max(0, round_up(end, CAPACITY_STEP) - capacity)
        if more or sequences > b:
            widths = [(0, max(0, sequences - b)), (0, more), (0, 0)]
            self._features = mx.pad(self._features.astype(dtype), widths)
