"""What crosses the pipe between a screen and the engine process: requests in, events out.

Plain frozen values, pickled: both ends are our own processes, so the pickles are trusted.
"""

from dataclasses import dataclass
from typing import Any

from app.engine.chat_prompt import Count, FillIn, Message
from app.engine.difference import Difference
from app.engine.events import PairInfo, TurnEvent
from mlx_spec.types import Options
from models.pairs.pair import PairSpec


@dataclass(frozen=True, slots=True)
class Load:
    pair: PairSpec
    at_once: int = 1
    """Answers that are written side by side; others wait."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a prompt; answers begin in the order of the requests. Ids rise; its events carry its own."""

    id: int
    prompt: str | tuple[int, ...] | FillIn | tuple[Message, ...] | Count
    options: Options
    documents: tuple[str, ...] = ()
    """Texts the lookup drafter may copy from."""
    begun: str = ""
    """How the answer begins; the events have what follows."""
    stop_texts: tuple[str, ...] = ()
    """The answer ends before the first of them."""
    tools: tuple[dict[str, Any], ...] = ()
    """Functions that the model may call, as OpenAI describes them."""
    whole: bool = False
    """A conversation that is too long is refused; else its oldest messages are left out."""
    likeliest: int | None = None
    """How many of the likeliest tokens are told beside each of the answer, with log probabilities."""


@dataclass(frozen=True, slots=True)
class Explain:
    """Find where two answers, given as tokens, part, and whether rounding explains it."""

    id: int
    messages: tuple[Message, ...]
    options: Options
    plain: tuple[int, ...]
    drafted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the answer with this id, also one that has not begun; its text so far is kept."""

    id: int


@dataclass(frozen=True, slots=True)
class SkipTuning:
    """Answer without measuring further what drafting costs."""


Request = Load | Answer | Explain | Cancel | SkipTuning


@dataclass(frozen=True, slots=True)
class Loaded:
    info: PairInfo


@dataclass(frozen=True, slots=True)
class LoadFailed:
    message: str


@dataclass(frozen=True, slots=True)
class Indexing:
    """Documents to draft from are new or have changed; the pair is there once they are indexed."""

    text: str


@dataclass(frozen=True, slots=True)
class Tuning:
    """What drafting costs with this pair here is being measured, once; answers wait, seconds at most."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class TuningEnded:
    """Answers begin. What was not measured is learned while answering."""

    skipped: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """One event of one answer; a `TurnEnded` is its last."""

    id: int
    event: TurnEvent


@dataclass(frozen=True, slots=True)
class Explained:
    id: int
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class AnswerFailed:
    """The answer, or the explanation, ended without a result."""

    id: int
    message: str
    refused: bool = False
    """The request cannot be answered as it is, now or later; nothing failed."""


@dataclass(frozen=True, slots=True)
class Died:
    """The process ended without being asked to; a negative code is a signal. Made by the parent's side."""

    returncode: int


EngineEvent = (
    Indexing | Loaded | LoadFailed | Tuning | TuningEnded | Answered | Explained | AnswerFailed | Died
)
