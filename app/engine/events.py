"""What happened while answering: the plain values that leave a session, pickled on their way out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from mlx_spec.stats import Stats

FinishReason = Literal["stop", "length", "cancelled"]

Mark = Literal["accepted", "bonus", "plain"]
"""`accepted`: a drafted token. `bonus`: the target's own after a draft. `plain`: no draft."""


@dataclass(frozen=True, slots=True)
class PairInfo:
    name: str
    context_limit: int
    device: str
    memory_bytes: int
    drafters: tuple[str, ...] = ()
    """Names that `Options.drafter` may have."""
    batches: bool = True
    """Whether several answers can be written side by side."""
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    blas: str = ""


@dataclass(frozen=True, slots=True)
class PrefillProgressed:
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class TurnsDropped:
    count: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one or more tokens that share a mark."""

    text: str
    mark: Mark


def append(pieces: list[Piece], piece: Piece) -> None:
    """Put a piece at the end, joined with the last one if their marks are the same."""
    if pieces and pieces[-1].mark == piece.mark:
        piece = Piece(pieces.pop().text + piece.text, piece.mark)
    pieces.append(piece)


def merged(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """Neighbours with the same mark joined."""
    out: list[Piece] = []
    for piece in pieces:
        append(out, piece)
    return tuple(out)


def text_of(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


@dataclass(frozen=True, slots=True)
class DraftRound:
    """One round as a person reads it: tokens as text, whatever they hold."""

    drafter: str
    drafted: tuple[str, ...]
    accepted: int
    own: str
    """The target's own token after the accepted ones; empty where the answer was cut before it."""
    seconds: float
    draft_seconds: float | None
    """Time the draft alone took, in the few rounds that are timed in two parts."""
    begin: int
    """Where its text begins and ends in the answer; a character of several tokens belongs to the last."""
    end: int
    tree_depth: int | None = None
    """The most that could be accepted of a tree, whose accepted tokens are its first here; None: of a chain
    all."""

    @property
    def draft_length(self) -> int:
        """Tokens drafted after one another."""
        return len(self.drafted) if self.tree_depth is None else self.tree_depth


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A token as text, and how likely the target found it; a part of a character is a mark in its place."""

    text: str
    begin: int
    """Where its text begins in the answer."""
    logprob: float
    top: tuple[tuple[str, float], ...]
    """The likeliest tokens there, and their log probabilities."""


@dataclass(frozen=True, slots=True)
class TextAdded:
    """One round's text, and the numbers of the answer so far."""

    pieces: tuple[Piece, ...]
    tokens: int
    seconds: float
    tokens_per_second: float
    drafted: int
    accepted: int
    rounds: int
    memory_bytes: int
    played: tuple[DraftRound, ...]
    """The rounds behind the pieces: one; none for a tail that had waited, several in joined events."""
    scored: tuple[ScoredToken, ...] = ()
    """The tokens behind the pieces, where it was asked for."""

    @property
    def text(self) -> str:
        return text_of(self.pieces)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the model asks to be called."""

    name: str
    arguments: str
    """A JSON object."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    seed: int
    stats: Stats
    tool_calls: tuple[ToolCall, ...] = ()
    """Where tools were given. Their text is in `text`, and in no piece."""
    stopped_at: str | None = None
    """The stop text that ended it."""


TurnEvent = PrefillProgressed | TurnsDropped | TextAdded | TurnEnded
