"""Who drafts the next round, and how long: asked before each round, told of each that was read."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from mlx_spec.types import Round


@dataclass(frozen=True, slots=True)
class Offer:
    """What one drafter could do for the next round."""

    drafter: str
    kind: str
    """What acceptance is counted by: drafts of one kind stand about equally often."""
    prior: float
    """How often a first token of this kind stands, before anything was counted."""
    limit: int
    """The longest draft worth considering."""
    reviews: int = 0
    """Latest tokens of which it can be asked whether it would have drafted them."""
    behind: int = 0
    """Tokens it has to read before it can draft."""


NO_OFFER = Offer("none", "none", 0.0, 0)
"""A plain round."""


@runtime_checkable
class Planner(Protocol):
    """Plans rounds from the rounds before. Whatever it says, the text stays the same."""

    def begin(self) -> None:
        """A new prompt."""
        ...

    def choose(self, offers: Sequence[Offer], length: int) -> tuple[Offer, int]:
        """Whose draft of how many tokens; may be asked more than once for a round.

        0 is a plain round; a drafter named with it reviews the text.

        Args:
            offers: of the drafters that could draft, the surest first.
            length: tokens in the context.
        """
        ...

    def count(self, read: Round, offer: Offer, length: int) -> None:
        """A round was read, which drafted by `offer` at `length` tokens in the context."""
        ...

    def review(self, offer: Offer, right: Sequence[bool]) -> None:
        """Of the latest tokens, which it did not draft, the drafter of `offer` would have had these right."""
        ...


class Fixed:
    """The same length every round, by the first that offers."""

    def __init__(self, length: int):
        self.length = length

    def begin(self) -> None:
        """Nothing to forget."""

    def choose(self, offers: Sequence[Offer], length: int) -> tuple[Offer, int]:
        return (offers[0], self.length) if offers and self.length else (NO_OFFER, 0)

    def count(self, read: Round, offer: Offer, length: int) -> None:
        """Nothing to learn."""

    def review(self, offer: Offer, right: Sequence[bool]) -> None:
        """Nothing to learn."""
