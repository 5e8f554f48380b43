"""The policy: chooses drafter and draft length before each round, and learns from each that was read."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence

from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.types import Round


class Policy(ABC):
    """Plans rounds from earlier rounds. Whatever it plans, the text stays the same."""

    def of(self, texts: int) -> "Policy":
        """The policy for rounds of `texts` texts."""
        return self

    def begin(self, texts: Collection[int]) -> None:
        """Set the texts of the batch, by `Text.number`."""
        return None

    @abstractmethod
    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        """The candidate that drafts and its draft length; may be asked more than once for a round.

        0 is a plain round, with a shadow draft by the candidate unless it is `NO_CANDIDATE`.

        Args:
            candidates: of the drafters that could draft, the highest prior first.
            length: tokens in the context.
        """

    def count(self, read: Mapping[int, Round], candidate: Candidate, length: int) -> None:
        """Learn from a round, by text, that `candidate` drafted at `length` tokens in the context."""
        return None

    def shadow(self, text: int, candidate: Candidate, right: Sequence[bool]) -> None:
        """For each of the text's latest tokens, whether `candidate` would have predicted it."""
        return None


class Fixed(Policy):
    """The first candidate drafts the same length every round."""

    def __init__(self, length: int):
        self.length = length

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        return (candidates[0], self.length) if candidates and self.length else (NO_CANDIDATE, 0)
