"""What is kept of a chat: plain frozen values, and how options and numbers become JSON and come back."""

import json
import re
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from datetime import datetime
from typing import Any, Literal, get_args

from app.engine.events import DraftRound, Mark, Piece
from app.shell.printable import one_line
from mlx_spec.errors import BadOption
from mlx_spec.stats import Stats
from mlx_spec.types import Options

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
    """What is known about an answer beside its text."""

    pair: str
    options: Options
    """As asked for, seed included."""
    finish: Finish | None = None
    """None: it is still being written, or the program ended meanwhile."""
    stats: Stats | None = None
    marks: str = ""
    """Run lengths of the marks of its characters: `a12b3` is 12 accepted, then 3 of bonus tokens."""
    rounds: tuple[DraftRound, ...] = ()
    """Of the whole answer, as `stats` is; of a continuation alone where the first part's are not known."""

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
    """A conversation; its messages are kept apart."""

    id: str
    title: str
    created: float
    changed: float
    archived: bool = False
    system: str = ""
    options: Options = field(default_factory=Options)
    drafting: bool = True
    leaf: str | None = None
    """The message at which the person stands: the end of the branch in view."""


@dataclass(frozen=True, slots=True)
class Preset:
    """Instructions and options under a name."""

    name: str
    system: str
    options: Options


def new_id() -> str:
    """An id that no other message or chat has."""
    return uuid.uuid4().hex


def now() -> float:
    """Seconds since 1970."""
    return time.time()


def is_time(seconds: float) -> bool:
    """Whether a calendar has it."""
    try:
        datetime.fromtimestamp(seconds)
    except (OverflowError, OSError, ValueError):
        return False
    return True


def title_of(prompt: str) -> str:
    """A title made of a prompt's beginning."""
    line = one_line(prompt)
    return line if len(line) <= TITLE_LENGTH else f"{line[: TITLE_LENGTH - 1]}…"


def options_json(options: Options) -> str:
    """Options as one JSON object; stop tokens belong to a model and are left out."""
    values = asdict(options)
    del values["stop_tokens"]
    return json.dumps(values)


def options_from(value: Any) -> Options:
    """Options of another version keep what this one knows; what cannot be used becomes the default."""
    if isinstance(value, str):
        value = json.loads(value)
    known = {f.name for f in fields(Options)} - {"stop_tokens"}
    try:
        return Options(**{name: v for name, v in value.items() if name in known})
    except (BadOption, TypeError, AttributeError):
        return Options()


def stats_json(stats: Stats | None) -> str | None:
    """Numbers of an answer as one JSON object."""
    return None if stats is None else json.dumps(asdict(stats))


def stats_from(value: Any) -> Stats | None:
    """Numbers of another version are left out where they lack something this one shows."""
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, dict):
        return None
    known = {f.name for f in fields(Stats)}
    values: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in value.items() if name in known
    }
    try:
        return Stats(**values)
    except TypeError:
        return None


def rounds_json(rounds: Sequence[DraftRound]) -> str:
    """Rounds as a JSON list of lists, fields in the order of `DraftRound`."""
    return json.dumps([astuple(played) for played in rounds], ensure_ascii=False)


def rounds_from(value: Any) -> tuple[DraftRound, ...]:
    """Rounds again; none if another version wrote them otherwise."""
    if isinstance(value, str):
        value = json.loads(value)
    try:
        return tuple(DraftRound(name, tuple(drafted), *rest) for name, drafted, *rest in value or ())
    except (TypeError, ValueError):
        return ()


_LETTERS: dict[Mark, str] = {mark: mark[0] for mark in get_args(Mark)}
_MARKS: dict[str, Mark] = {letter: mark for mark, letter in _LETTERS.items()}
_RUN = re.compile(r"([a-z])(\d+)")


def marks_of(pieces: Iterable[Piece]) -> str:
    """The marks of a text as run lengths."""
    return "".join(f"{_LETTERS[piece.mark]}{len(piece.text)}" for piece in pieces if piece.text)


def pieces_of(text: str, marks: str) -> tuple[Piece, ...]:
    """The text with its marks again; what they do not cover is plain."""
    out: list[Piece] = []
    start = 0
    for letter, length in _RUN.findall(marks):
        end = start + int(length)
        if part := text[start:end]:
            out.append(Piece(part, _MARKS.get(letter, "plain")))
        start = end
    return (*out, Piece(text[start:], "plain")) if text[start:] else tuple(out)


def attachments_json(attachments: Sequence[Attachment]) -> str:
    """Attachments as a JSON list."""
    return json.dumps([asdict(a) for a in attachments], ensure_ascii=False)


def attachments_from(text: str) -> tuple[Attachment, ...]:
    """Attachments of a JSON list."""
    return tuple(Attachment(a["name"], a["text"]) for a in json.loads(text))
