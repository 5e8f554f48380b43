"""The events of an answer: plain values that leave a session, pickled on their way out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal

from mlx_spec.stats import Stats

FinishReason = Literal["stop", "length", "cancelled"]

Mark = Literal["accepted", "bonus", "plain"]
"""`accepted`: a drafted token. `bonus`: the target's own token after a draft. `plain`: no draft."""


@dataclass(frozen=True, slots=True)
class PairInfo:
    name: str
    context_limit: int
    device: str
    memory_bytes: int
    drafters: tuple[str, ...] = ()
    """Names allowed in `Options.drafter`."""
    thinks: tuple[str, ...] = ("auto",)
    """Values of `AnswerOptions.think` that this model's chat template obeys."""
    batches: bool = True
    """Whether several answers can be written side by side."""
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    blas: str = ""
    compiled: bool = False
    """Whether passes are compiled."""


@dataclass(frozen=True, slots=True)
class PrefillProgressed:
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class PromptCounted:
    """Comes before the prompt is read."""

    prompt_tokens: int
    """Cached ones too."""


@dataclass(frozen=True, slots=True)
class TurnsDropped:
    count: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of one or more tokens that share a mark."""

    text: str
    mark: Mark
    thought: bool = False
    """It is of the model's thought, not of its answer; only told apart if the request asks for parts."""


def append(pieces: list[Piece], piece: Piece) -> None:
    """Put a piece at the end, joined with the last one if they differ in nothing but their text."""
    if pieces and (pieces[-1].mark, pieces[-1].thought) == (piece.mark, piece.thought):
        piece = replace(piece, text=pieces.pop().text + piece.text)
    pieces.append(piece)


def merged(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    """The pieces, with neighbours of the same mark joined."""
    out: list[Piece] = []
    for piece in pieces:
        append(out, piece)
    return tuple(out)


def text_of(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


@dataclass(frozen=True, slots=True)
class DraftRound:
    """One round for display: tokens as text, control characters included."""

    drafter: str
    drafted: tuple[str, ...]
    accepted: int
    own: str
    """The target's own token after the accepted ones; empty if the answer was cut before it."""
    seconds: float
    draft_seconds: float | None
    """Seconds for the draft alone, in the few rounds where it is timed separately."""
    begin: int
    """`begin` and `end` of its text in the answer; a character of several tokens belongs to the last one."""
    end: int
    tree_depth: int | None = None
    """Depth of a drafted tree, whose accepted tokens come first in `drafted`; None: a chain."""

    @property
    def draft_length(self) -> int:
        """The most drafted tokens that could be accepted."""
        return len(self.drafted) if self.tree_depth is None else self.tree_depth


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A token as text with the target's log probability; a part of a character is shown as U+FFFD."""

    text: str
    begin: int
    """Where its text begins in the answer."""
    logprob: float
    top: tuple[tuple[str, float], ...]
    """The likeliest tokens at its position, and their log probabilities."""


@dataclass(frozen=True, slots=True)
class TextAdded:
    """One round's text, and the statistics of the answer so far."""

    pieces: tuple[Piece, ...]
    tokens: int
    seconds: float
    tokens_per_second: float
    memory_bytes: int
    played: tuple[DraftRound, ...]
    """The rounds of the pieces: one; none for held text at the end, several in joined events."""
    scored: tuple[ScoredToken, ...] = ()
    """The tokens of the pieces, if log probabilities were requested."""

    @property
    def text(self) -> str:
        return text_of(self.pieces)

    @property
    def parts(self) -> list[tuple[bool, str]]:
        """The text in runs: whether each is thought, and the run."""
        runs = groupby(self.pieces, lambda piece: piece.thought)
        return [(thought, text_of(pieces)) for thought, pieces in runs]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call that the model requests."""

    name: str
    arguments: str
    """A JSON object."""
    id: str = ""
    """As the model wrote it; most write none."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    seed: int
    stats: Stats
    tool_calls: tuple[ToolCall, ...] = ()
    """Only if tools were given. Their text is in `text` but in no piece."""
    stopped_at: str | None = None
    """The stop text that ended it."""


TurnEvent = PromptCounted | PrefillProgressed | TurnsDropped | TextAdded | TurnEnded
