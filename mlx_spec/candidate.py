"""A draft that one drafter could make in the next round. Plain values: policies use no arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlx_spec.types import MAX_DRAFT_LENGTH

TREES = ", trees of "


@dataclass(frozen=True, slots=True)
class Candidate:
    """A draft that one drafter could make in the next round."""

    drafter: str
    kind: str
    """Acceptance is counted by kind: drafts of one kind have about the same acceptance rate."""
    prior: float
    """Assumed acceptance rate of a draft's first token, before any was counted."""
    limit: int
    """The longest draft worth considering; none at 0."""
    shadows: int = 0
    """Latest tokens of the text that a shadow draft could check."""
    behind: int = 0
    """Missed tokens, of all texts, that it has to read before it can draft."""
    host_text: bool = False
    """Whether it needs the host to know the whole text first."""
    room: int = MAX_DRAFT_LENGTH
    """The longest draft it can make here."""
    weight: float = 1.5
    """Weight of `prior`, in tokens."""
    nodes: int = 0
    """Tokens of a draft tree, all branches together; 0: a chain."""
    texts: tuple[int, ...] | None = None
    """The texts of the batch that it drafts for; None: all. By place, and by `Text.number` for policies."""

    @property
    def costs_as(self) -> str:
        """The key of its rounds' costs."""
        return f"{self.drafter}{TREES}{self.nodes}" if self.nodes else self.drafter

    def numbered(self, numbers: Sequence[int]) -> "Candidate":
        """With the numbers of its texts, from the numbers by place."""
        return self if self.texts is None else replace(self, texts=tuple(numbers[i] for i in self.texts))


NO_CANDIDATE = Candidate("none", "none", 0.0, 0)
"""A plain round."""


def rows_of(costs_as: str, k: int) -> int:
    """Rows of one text in the target's pass of such a round, `k` drafted tokens after one another."""
    nodes = costs_as.partition(TREES)[2]
    return 1 + (int(nodes) if nodes else k)


def by_kind(own: Sequence[Candidate | None]) -> list[Candidate]:
    """One candidate of each kind among the texts' own, by place; for texts whose own is as likely or more."""
    kinds = list({candidate.kind: candidate for candidate in own if candidate}.values())
    if len(own) == 1:
        return kinds
    return [
        replace(kind, texts=tuple(i for i, each in enumerate(own) if each and each.prior >= kind.prior))
        for kind in kinds
    ]
