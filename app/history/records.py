"""The saved records of a chat: plain frozen values, and their conversion to JSON and back."""

import json
import re
import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from app.engine.events import DraftRound, Mark, Piece
from app.settings.options import AnswerOptions
from app.shell.printable import one_line
from mlx_spec.errors import BadOption
from mlx_spec.stats import Stats
from models.files import parse_json

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")

Role = Literal["user", "assistant"]

Finish = Literal["stop", "length", "cancelled", "failed"]
"""How an answer ended. `cancelled`: stopped by the person. `failed`: the engine gave up on it."""

TITLE_LENGTH = 60


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file whose text goes with a prompt."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    pair: str
    options: AnswerOptions
    """As requested, seed included."""
    finish: Finish | None = None
    """None: it is still being written, or the program ended meanwhile."""
    stats: Stats | None = None
    marks: str = ""
    """Run lengths of the marks of its characters: `a12b3` is 12 accepted, then 3 of bonus tokens."""
    rounds: tuple[DraftRound, ...] = ()
    """Of the whole answer, like `stats`; of a continuation alone if the first part's are unknown."""

    @property
    def covers_all(self) -> bool:
        """Whether the rounds and numbers are those of the whole answer."""
        return not self.rounds or self.rounds[0].begin == 0


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message; messages with the same parent are branches."""

    id: str
    chat: str
    parent: str | None
    role: Role
    text: str
    created: float
    """Seconds since 1970. Never used for order: clocks jump."""
    attachments: tuple[Attachment, ...] = ()
    facts: AnswerFacts | None = None
    """Of an answer; None for a prompt."""


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation without its messages."""

    id: str
    title: str
    created: float
    changed: float
    archived: bool = False
    system: str = ""
    options: AnswerOptions = field(default_factory=AnswerOptions)
    drafting: bool = True
    keeps_seed: bool = False
    leaf: str | None = None
    """The last message of the branch in view."""


@dataclass(frozen=True, slots=True)
class ChatRow:
    chat: Chat
    messages: int
    pair: str
    """Of the last answer; empty if there is none."""
    hit: str | None = None
    """Id of the message found; None if only the title matches."""
    excerpt: str = ""
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Preset:
    name: str
    system: str
    options: AnswerOptions


def new_id() -> str:
    return uuid.uuid4().hex


def now() -> float:
    return time.time()


def time_of(seconds: float) -> float:
    """The time, or 1970 if it is no date between 1970 and 9892."""
    return seconds if 0 <= seconds < 2.5e11 else 0.0


def title_of(prompt: str) -> str:
    line = one_line(prompt)
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1]}…"


def options_value(options: AnswerOptions) -> dict[str, Any]:
    """AnswerOptions as JSON; stop tokens belong to a model and are left out."""
    values = asdict(options)
    del values["stop_tokens"]
    return values


def chat_value(chat: Chat) -> dict[str, Any]:
    return asdict(chat) | {"options": options_value(chat.options)}


def message_value(message: ChatMessage) -> dict[str, Any]:
    """A message as JSON: no chat id, facts on the top level, rounds as lists in `DraftRound`'s order."""
    value = asdict(message)
    del value["chat"]
    if (facts := value.pop("facts")) is not None:
        del facts["options"]["stop_tokens"]
        facts["rounds"] = [list(played.values()) for played in facts["rounds"]]
        value |= facts
    return value


def options_from(value: Any) -> AnswerOptions:
    """AnswerOptions from JSON: unknown fields are dropped; if a value is invalid, all are the defaults.

    `AnswerOptions` checks itself, without pydantic, whose import would delay the list of chats at the start.
    """
    known = {field.name for field in fields(AnswerOptions)} - {"stop_tokens"}
    try:
        return AnswerOptions(**{name: one for name, one in value.items() if name in known})
    except (BadOption, TypeError, AttributeError):
        return AnswerOptions()


def facts_from(value: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of `AnswerFacts`; stats and rounds in another version's format are left out."""
    names = [field.name for field in fields(DraftRound)]
    try:
        # Versions without draft trees do not write the last field.
        rounds = [dict(zip(names, row, strict=False)) for row in value.get("rounds") or ()]
    except (TypeError, ValueError):
        rounds = []
    return {
        "pair": value.get("pair"),
        "options": options_from(value.get("options")),
        "finish": value.get("finish"),
        "stats": read(Stats, value.get("stats")),
        "marks": value.get("marks") or "",
        "rounds": read(tuple[DraftRound, ...], rounds) or (),
    }


def attachments_from(value: Any) -> tuple[Attachment, ...]:
    return (read(tuple[Attachment, ...], value) if value else None) or ()


def json_column(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def column_value(text: str | None) -> Any:
    """The value of a JSON column; None if the disk has damaged it."""
    try:
        return None if text is None else parse_json(text)
    except ValueError:
        return None


def read(kind: type[T], value: Any) -> T | None:
    """A JSON value as `kind`; None if it does not fit, as when another version wrote it."""
    from pydantic import ValidationError

    try:
        return adapter(kind).validate_python(value)
    except ValidationError:
        return None


@cache
def adapter(kind: Any) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


_LETTERS: dict[Mark, str] = {mark: mark[0] for mark in get_args(Mark)}
_MARKS: dict[str, Mark] = {letter: mark for mark, letter in _LETTERS.items()}
_RUN = re.compile(r"([a-z])(\d{1,9})")


def marks_of(pieces: Iterable[Piece]) -> str:
    return "".join(f"{_LETTERS[piece.mark]}{len(piece.text)}" for piece in pieces if piece.text)


def pieces_of(text: str, marks: str) -> tuple[Piece, ...]:
    """Split a text by its marks; text that they do not cover is plain."""
    rest, runs = StringIO(text), _RUN.findall(marks)
    pieces = [Piece(rest.read(int(length)), _MARKS.get(letter, "plain")) for letter, length in runs]
    return tuple(piece for piece in (*pieces, Piece(rest.read(), "plain")) if piece.text)
