"""What happened while answering: the plain values that leave a session.

They cross a process border by pickle, so nothing here holds an array, a model or a widget.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from mlx_spec.stats import Stats

FinishReason = Literal["stop", "length", "cancelled"]

Mark = Literal["accepted", "bonus", "plain"]
"""`accepted`: a drafted token that stood. `bonus`: the target's own after a draft. `plain`: no draft."""


@dataclass(frozen=True, slots=True)
class PairInfo:
    """A loaded pair, as a person would want it described."""

    name: str
    context_limit: int
    device: str
    memory_bytes: int
    can_draft: bool
    notes: tuple[str, ...] = ()
    """Harmless things worth saying once, for example unused tokens that differ."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of the packages a result depends on, as `app.shell.machine.versions` finds them."""
    blas: str = ""
    """Which one the engine's matrix products use."""


@dataclass(frozen=True, slots=True)
class PrefillProgressed:
    """Part of the prompt was read."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class TurnsDropped:
    """The oldest messages did not fit the context and will not be read by the model."""

    count: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one or more tokens that share a mark."""

    text: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class DraftRound:
    """One round as a person reads it: tokens as text, whatever they hold."""

    drafter: str
    """`none` in a plain round."""
    drafted: tuple[str, ...]
    accepted: int
    own: str
    """The target's own token after the accepted ones; empty where the answer was cut before it."""
    seconds: float
    draft_seconds: float | None
    """Time the draft alone took, in the few rounds that are timed in two parts."""
    begin: int
    """Where the round's text begins and ends in the answer, in characters; a character of several tokens
    belongs to its last one."""
    end: int


@dataclass(frozen=True, slots=True)
class TextAdded:
    """One round's text, and the running numbers."""

    pieces: tuple[Piece, ...]
    tokens: int
    """Tokens of the answer so far."""
    seconds: float
    """Decoding seconds so far."""
    tokens_per_second: float
    drafted: int
    accepted: int
    rounds: int
    memory_bytes: int
    """What the engine's process holds in arrays now."""
    played: tuple[DraftRound, ...]
    """The rounds behind the pieces: one; none for a tail that had waited, several in joined events."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The answer is complete (or was stopped and is kept)."""

    text: str
    token_ids: tuple[int, ...]
    """The answer's tokens, the stop token left out."""
    finish_reason: FinishReason
    seed: int
    stats: Stats


TurnEvent = PrefillProgressed | TurnsDropped | TextAdded | TurnEnded
