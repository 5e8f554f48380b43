"""Who drafts the next round, and how long: asked before each round, told of each that was read."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from mlx_spec.types import Round


@runtime_checkable
class Planner(Protocol):
    """Plans rounds from the rounds before. Whatever it says, the text stays the same."""

    def begin(self) -> None:
        """A new prompt."""
        ...

    def choose(self, offers: Sequence[str]) -> tuple[str, int]:
        """(drafter, length) among the drafters that could draft, the surest first; length 0 is plain."""
        ...

    def count(self, read: Round) -> None:
        """A round was read."""
        ...


class Fixed:
    """The same length every round, by the first that offers."""

    def __init__(self, length: int):
        self.length = length

    def begin(self) -> None:
        """Nothing to forget."""

    def choose(self, offers: Sequence[str]) -> tuple[str, int]:
        return (offers[0], self.length) if offers and self.length else ("none", 0)

    def count(self, read: Round) -> None:
        """Nothing to learn."""
