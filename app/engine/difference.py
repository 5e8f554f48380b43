"""The first difference of two answers to one prompt."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """The first token at which two answers differ."""

    position: int
    plain: str
    drafted: str
    """`plain` and `drafted`: the two tokens as text; empty if that answer had ended."""
    margin: float | None
    """Logits by which the lower of the two tokens is below the target's best. None: an answer had ended."""
    tolerance: float
    """Margin up to which rounding explains the difference."""

    @property
    def near_tie(self) -> bool:
        """Rounding explains it."""
        return self.margin is not None and self.margin <= self.tolerance


def parting(plain: Sequence[int], drafted: Sequence[int]) -> int:
    """Index of the first token at which two answers differ or one of them has ended."""
    pairs = enumerate(zip(plain, drafted, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(plain), len(drafted)))
