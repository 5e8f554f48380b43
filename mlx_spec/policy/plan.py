"""Who drafts the next round, and how long: asked before each round, shown each that was read."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.types import Round


@runtime_checkable
class Policy(Protocol):
    """Plans rounds from the rounds before. Whatever it plans, the text stays the same."""

    def begin(self) -> None:
        """A new prompt."""
        ...

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        """Whose draft of how many tokens; may be asked more than once for a round.

        0 is a plain round; a drafter named with it reviews the text.

        Args:
            candidates: of the drafters that could draft, the surest first.
            length: tokens in the context.
        """
        ...

    def count(self, read: Round, candidate: Candidate, length: int) -> None:
        """A round was read, which drafted by `candidate` at `length` tokens in the context."""
        ...

    def shadow(self, candidate: Candidate, right: Sequence[bool]) -> None:
        """Which of the latest tokens, drafted by others, the drafter of `candidate` would have had right."""
        ...


class Fixed:
    """The same length every round, by the first that candidates."""

    def __init__(self, length: int):
        self.length = length

    def begin(self) -> None:
        """Nothing to forget."""

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        return (candidates[0], self.length) if candidates and self.length else (NO_CANDIDATE, 0)

    def count(self, read: Round, candidate: Candidate, length: int) -> None:
        """Nothing to learn."""

    def shadow(self, candidate: Candidate, right: Sequence[bool]) -> None:
        """Nothing to learn."""
