"""Who drafts the next round, and how long: asked before each round, told of each that was read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mlx_spec.types import MAX_DRAFT_LENGTH, Round


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one drafter could do for the next round."""

    drafter: str
    kind: str
    """What acceptance is counted by: drafts of one kind stand about equally often."""
    prior: float
    """How often a first token of this kind stands, before anything was counted."""
    limit: int
    """The longest draft worth considering."""
    shadows: int = 0
    """Latest tokens of which it can say whether it would have drafted them."""
    behind: int = 0
    """Tokens it has to read before it can draft."""
    host_text: bool = False
    """Whether it needs the host to know the whole text first."""
    room: int = MAX_DRAFT_LENGTH
    """Tokens that it is able to draft here."""


NO_CANDIDATE = Candidate("none", "none", 0.0, 0)
"""A plain round."""


@runtime_checkable
class Policy(Protocol):
    """Plans rounds from the rounds before. Whatever it says, the text stays the same."""

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
