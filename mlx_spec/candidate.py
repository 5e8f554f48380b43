"""What a drafter could do for the next round. Plain values: who plans knows no arrays."""

from dataclasses import dataclass

from mlx_spec.types import MAX_DRAFT_LENGTH


@dataclass(frozen=True, slots=True)
class Candidate:
    """What one drafter could do for the next round."""

    drafter: str
    kind: str
    """What acceptance is counted by: drafts of one kind have about the same acceptance rate."""
    prior: float
    """Acceptance rate of a first token of this kind, before anything was counted."""
    limit: int
    """The longest draft worth considering."""
    shadows: int = 0
    """Latest tokens that it could shadow: would it have drafted them?"""
    behind: int = 0
    """Tokens it has to read before it can draft."""
    host_text: bool = False
    """Whether it needs the host to know the whole text first."""
    room: int = MAX_DRAFT_LENGTH
    """Tokens that it is able to draft here."""
    nodes: int = 0
    """Tokens of a tree, all branches together; 0: a chain, of as many as are drafted after one another."""

    @property
    def costs_as(self) -> str:
        """The name that its rounds' costs are kept by."""
        return f"{self.drafter}, trees of {self.nodes}" if self.nodes else self.drafter


NO_CANDIDATE = Candidate("none", "none", 0.0, 0)
"""A plain round."""
