"""Where two answers to one prompt part."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place at which two answers part."""

    position: int
    plain: str
    drafted: str
    """The two tokens as text; empty where an answer had ended."""
    margin: float | None
    """How far the worse of the two lies below the target's best, in logits. None: an answer had ended."""
    tolerance: float
    """Margin up to which rounding explains the difference."""

    @property
    def near_tie(self) -> bool:
        """Rounding explains it."""
        return self.margin is not None and self.margin <= self.tolerance


def parting(plain: Sequence[int], drafted: Sequence[int]) -> int:
    """Index of the first token at which two answers differ, or at which one of them has ended."""
    pairs = enumerate(zip(plain, drafted, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(plain), len(drafted)))
