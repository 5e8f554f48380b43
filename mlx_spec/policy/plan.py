"""Who drafts the next round, and how long: asked before each round, shown each that was read."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.types import Round


@runtime_checkable
class Policy(Protocol):
    """Plans rounds from the rounds before. Whatever it plans, the text stays the same."""

    def of(self, texts: int) -> "Policy":
        """What plans rounds of so many texts."""
        ...

    def begin(self, texts: Collection[int]) -> None:
        """These texts, each by a number of its own, are written together from here on."""
        ...

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        """Whose draft of how many tokens; may be asked more than once for a round.

        0 is a plain round; the drafter of the candidate shadows it.

        Args:
            candidates: of the drafters that could draft, the surest first.
            length: tokens in the context.
        """
        ...

    def count(self, read: Mapping[int, Round], candidate: Candidate, length: int) -> None:
        """A round was read, by text, which drafted by `candidate` at `length` tokens in the context."""
        ...

    def shadow(self, text: int, candidate: Candidate, right: Sequence[bool]) -> None:
        """Which of a text's latest tokens, drafted by others, `candidate` would have had right."""
        ...


class Fixed:
    """The same length every round, by the first that candidates."""

    def __init__(self, length: int):
        self.length = length

    def of(self, texts: int) -> "Fixed":
        return self

    def begin(self, texts: Collection[int]) -> None:
        """Nothing to forget."""

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        return (candidates[0], self.length) if candidates and self.length else (NO_CANDIDATE, 0)

    def count(self, read: Mapping[int, Round], candidate: Candidate, length: int) -> None:
        """Nothing to learn."""

    def shadow(self, text: int, candidate: Candidate, right: Sequence[bool]) -> None:
        """Nothing to learn."""
