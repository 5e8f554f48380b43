"""Drafts at no cost, whatever the text is: calibration times passes of the target with it."""

from collections.abc import Sequence

import mlx.core as mx

from mlx_spec.arrays import Draft, Length
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter
from mlx_spec.types import MAX_DRAFT_LENGTH
from mlx_spec.verify.batch import BatchVerifier


class Guess(Drafter):
    """Every token it drafts is 1."""

    name = "a guess"

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return [Candidate(self.name, self.name, prior=1.0, limit=MAX_DRAFT_LENGTH, host_text=True)]

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        return Draft.chain(mx.array([[1] * depth], mx.int32))
