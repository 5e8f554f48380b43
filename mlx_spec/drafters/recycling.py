"""The target's own runners-up: what it found likely after a token is drafted when the token comes again.

Token Recycling (Luo et al., ACL 2025, arXiv 2408.08696): a table of the likeliest next tokens per token, from
every row of every pass, accepted or not. No training, no model of its own, nothing leaves the device.
"""

from collections.abc import Sequence

import mlx.core as mx

from mlx_spec.arrays import Draft, Length, Output, Pass, Verdict
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter
from mlx_spec.types import MAX_DRAFT_LENGTH
from mlx_spec.verify.batch import BatchVerifier

KEPT = 8
"""Likeliest next tokens per token."""


class RecyclingDrafter(Drafter):
    """Drafts the likeliest token after the last one, as the target last saw it, and so on.

    Args:
        vocab: of the target.
    """

    name = "recycling"

    def __init__(self, vocab: int):
        self._next = mx.zeros((vocab, KEPT), mx.int32)
        """`[vocab, KEPT]`, the likeliest first."""

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return [Candidate(self.name, "recycling", prior=0.3, limit=MAX_DRAFT_LENGTH)]

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        tokens = [context.last(1)]
        for _ in range(depth):
            tokens.append(self._next[tokens[-1], 0])
        return Draft.chain(mx.concatenate(tokens[1:], axis=1))

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        rows = output.logits.reshape(-1, output.logits.shape[-1])
        best = mx.argpartition(-rows, KEPT, axis=-1)[:, :KEPT]
        order = mx.argsort(-mx.take_along_axis(rows, best, axis=-1), axis=-1)
        best = mx.take_along_axis(best, order, axis=-1).astype(mx.int32)
        self._next[p.ids.reshape(-1)] = best
