"""The messages between a screen and the engine process: requests in, events out.

Plain frozen values, pickled: both ends are our own processes, so the pickles are trusted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from app.engine.chat_prompt import FillIn, Message
from app.engine.difference import Difference
from app.engine.events import PairInfo, TurnEvent
from app.settings.options import AnswerOptions
from models.pairs.pair import PairSpec


@dataclass(frozen=True, slots=True)
class Load:
    pair: PairSpec
    at_once: int = 1
    """Answers written side by side at most; others wait."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer a prompt; answers begin in the order of the requests. Ids increase; events carry the id."""

    id: int
    prompt: str | tuple[int, ...] | FillIn | tuple[Message, ...]
    options: AnswerOptions
    documents: tuple[str, ...] = ()
    """Texts the lookup drafter may copy from."""
    begun: str = ""
    """The beginning of the answer, already written; the events have the rest."""
    stop_texts: tuple[str, ...] = ()
    """The answer ends before the first of them."""
    tools: tuple[dict[str, Any], ...] = ()
    """Functions that the model may call, in OpenAI's format."""
    one_call: bool = False
    """Of the model's calls, the server's answer has the first only."""
    template_values: Mapping[str, Any] = field(default_factory=dict)
    """Of the chat template's variables: whether the model thinks, and how much."""
    parts: bool = False
    """Tell the thought from the answer, without the marks. False: the text as the model wrote it."""
    counts: bool = False
    """Only count the tokens of the conversation, chat template included: its one event has them."""
    whole: bool = False
    """True: a conversation that is too long is refused. False: its oldest messages are left out."""
    likeliest: int | None = None
    """Report log probabilities: of each token and this many likeliest ones at its position. None: do not."""
    streamed: bool = True
    """Whether its text is shown as it comes. If not, prompts that join are read before its next round."""
    prompt_name: str = "prompt"
    """What the request's API calls the prompt, for a refusal."""
    fresh: bool = False
    """Nothing is drafted from earlier answers, unless others are in progress: a repeat of one would accept
    what it taught the drafters."""


@dataclass(frozen=True, slots=True)
class Explain:
    """Find the first difference of two answers, given as tokens, and whether rounding explains it."""

    id: int
    messages: tuple[Message, ...]
    options: AnswerOptions
    plain: tuple[int, ...]
    drafted: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop the answer with this id, also one that has not begun; its text so far is kept."""

    id: int


@dataclass(frozen=True, slots=True)
class SkipTuning:
    """Stop measuring what drafting costs and begin to answer."""


Request = Load | Answer | Explain | Cancel | SkipTuning


@dataclass(frozen=True, slots=True)
class Loaded:
    info: PairInfo


@dataclass(frozen=True, slots=True)
class LoadFailed:
    message: str
    refused: bool = False
    """The pair or an option is at fault, not the machine."""


@dataclass(frozen=True, slots=True)
class Indexing:
    """New or changed documents to draft from are being indexed; the pair is loaded after that."""

    text: str


@dataclass(frozen=True, slots=True)
class Tuning:
    """The costs of drafting with this pair are being measured, once; answers wait a few seconds."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class TuningEnded:
    """Answers begin. Costs that were not measured are learned while answering."""

    skipped: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """One event of one answer; `TurnEnded` is the last."""

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
    """The request itself is at fault: sending it again cannot help."""
    too_long: bool = False
    """The prompt does not fit into the context."""
    field: str = ""
    """The refused field where it is known: `prompt`, `tools`, `suffix` or `drafter`."""
    died: bool = False
    """The process ended, whichever request caused it. Made by the parent's side."""


@dataclass(frozen=True, slots=True)
class Died:
    """The process ended unasked; a negative code is a signal. Made by the parent's side."""

    returncode: int


EngineEvent = (
    Indexing | Loaded | LoadFailed | Tuning | TuningEnded | Answered | Explained | AnswerFailed | Died
)
