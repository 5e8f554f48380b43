"""Drafts at once, whatever the text is: what calibration times passes of the target with."""

from collections.abc import Sequence

import mlx.core as mx

from mlx_spec.drafters import Context
from mlx_spec.policy.plan import Offer
from mlx_spec.types import MAX_DRAFT_LENGTH
from mlx_spec.verify.verifiers import Draft, RoundRule, RuleBook


class Guess:
    """Stands in for lookup; every token it drafts is 1."""

    name = "lookup"
    reads_host = True

    def begin(self, tokens: Sequence[int], documents: Sequence[Sequence[int]]) -> None:
        """Nothing to read."""

    def offer(self) -> Offer:
        return Offer(self.name, kind="guess", prior=1.0, limit=MAX_DRAFT_LENGTH)

    def draft(self, context: Context, length: int, rule: RoundRule) -> Draft:
        return Draft(mx.array([1] * length, mx.int32))

    def review(self, context: Context, book: RuleBook) -> mx.array:
        raise NotImplementedError("it offers none")

    def hindsight(self) -> Sequence[tuple[Offer, bool]]:
        return ()

    def skipped(self, count: int) -> None:
        """Nothing to keep in step."""

    def keep(self, known: Sequence[int]) -> None:
        """Nothing to keep in step."""
