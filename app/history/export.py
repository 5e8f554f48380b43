"""Chats as Markdown for people and as JSON that can be imported again."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from app.history.records import (
    AnswerFacts,
    Attachment,
    Chat,
    ChatMessage,
    Finish,
    adapter,
    as_value,
    is_time,
    named_rounds,
    options_from,
    rounds_value,
)
from app.history.store import History
from app.history.tree import MessageTree
from app.shell.errors import BadInput
from app.shell.output_file import write_text
from app.shell.printable import json_text, one_line
from mlx_spec.stats import Stats

T = TypeVar("T")

_STATS = {field.name for field in fields(Stats)}
FORMAT = "mlx-spec chats"
VERSION = 1

LARGEST_IMPORT_BYTES = 500_000_000


def as_json(chats: Iterable[tuple[Chat, Sequence[ChatMessage]]]) -> dict[str, Any]:
    """Everything that is kept of the chats, every branch."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "chats": [_chat_value(chat, messages) for chat, messages in chats],
    }


def as_markdown(chat: Chat, messages: Sequence[ChatMessage]) -> str:
    """The branch in view, with the instructions and each answer's numbers."""
    tree = MessageTree(messages)
    path = tree.path(chat.leaf if chat.leaf in tree else tree.end_of(None))
    parts = [f"# {one_line(chat.title)}"]
    if chat.system:
        parts.append("## Instructions\n\n" + chat.system)
    for message in path:
        parts.append(f"## {_speaker(message)}\n\n{message.text.strip()}")
        parts += [fenced(attachment) for attachment in message.attachments]
        if message.facts is not None:
            parts.append(f"*{numbers(message.facts)}*")
    others = len(messages) - len(path)
    if others:
        parts.append(f"*{others} messages of other branches are left out; JSON has them.*")
    return "\n\n".join(parts) + "\n"


def numbers(facts: AnswerFacts) -> str:
    """One line about an answer: seed, tokens, speed, what drafting did, how it ended."""
    parts = [f"seed {facts.options.seed}", f"temperature {facts.options.temperature:g}"]
    if facts.stats is not None:
        parts += [f"{facts.stats.tokens} tokens", f"{facts.stats.tokens_per_second:.0f} tok/s"]
        if facts.stats.draft_n:
            parts.append(f"accepted {facts.stats.draft_n_accepted}/{facts.stats.draft_n}")
    ends: dict[Finish | None, str] = {
        "cancelled": "stopped",
        "length": "cut at the length limit",
        "failed": "the engine failed",
        None: "not finished",
    }
    return " · ".join([*parts, *([ends[facts.finish]] if facts.finish in ends else [])])


def write(
    chat: Chat, messages: Sequence[ChatMessage], kind: Literal["markdown", "json"], path: Path | None
) -> Path:
    """Write one chat into a file; without a path, one in the working folder that is not there yet.

    Raises:
        MachineFailed: it cannot be written.
    """
    path = path or _free_path(chat, ".json" if kind == "json" else ".md")
    is_json = kind == "json"
    write_text(
        path, json_text(as_json([(chat, messages)])) + "\n" if is_json else as_markdown(chat, messages)
    )
    return path.resolve()


def import_file(history: History, path: Path) -> tuple[int, int]:
    """Add the chats of an exported file; return how many were added and how many were there already.

    Raises:
        BadInput: the file cannot be read, is no export, or not of this version; nothing was added.
    """
    try:
        if path.stat().st_size > LARGEST_IMPORT_BYTES:
            raise BadInput(f"it has more than {LARGEST_IMPORT_BYTES // 10**6} MB, which no export has.")
        hooks = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), _number)
        value = json.loads(path.read_text("utf-8"), **hooks)
        json.dumps(value, ensure_ascii=False).encode()
        chats = _chats(value)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise BadInput(f"{path} holds {half}, half of a character, which no text can keep.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path} cannot be read as JSON: it is no UTF-8 text.") from None
    except RecursionError:
        raise BadInput(f"{path} cannot be read as JSON: its brackets are nested too deep.") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"{path} cannot be read as JSON: {error}.") from error
    ids = history.connection.execute("SELECT id FROM chats WHERE deleted IS NULL")
    known = {chat_id for (chat_id,) in ids}
    new = {chat.id: (chat, messages) for chat, messages in chats if chat.id not in known}
    new = dict(sorted(new.items(), key=lambda item: item[1][0].changed))
    history.save((chat for chat, _ in new.values()), (m for _, messages in new.values() for m in messages))
    return len(new), len(chats) - len(new)


def _free_path(chat: Chat, suffix: str) -> Path:
    words = "-".join(re.findall(r"[\w]+", chat.title.lower()))[:40].strip("-") or "chat"
    path, number = Path(f"{words}{suffix}"), 1
    while path.exists():
        number += 1
        path = Path(f"{words}-{number}{suffix}")
    return path


def _speaker(message: ChatMessage) -> str:
    return "You" if message.facts is None else one_line(message.facts.pair) or "Answer"


def fenced(attachment: Attachment) -> str:
    """A file's text under its name, in a fence longer than any inside."""
    longest = fence = 0
    for char in attachment.text:
        fence = fence + 1 if char == "`" else 0
        longest = max(longest, fence)
    marks = "`" * max(3, longest + 1)
    text = attachment.text if attachment.text.endswith("\n") else attachment.text + "\n"
    return f"File {one_line(attachment.name)}:\n{marks}\n{text}{marks}"


def _chat_value(chat: Chat, messages: Sequence[ChatMessage]) -> dict[str, Any]:
    options = as_value(chat.options)
    return {**asdict(chat), "options": options, "messages": [_message_value(m) for m in messages]}


def _message_value(message: ChatMessage) -> dict[str, Any]:
    value = asdict(replace(message, facts=None))
    del value["chat"], value["facts"]
    if (facts := message.facts) is not None:
        value |= {
            "pair": facts.pair,
            "options": as_value(facts.options),
            "finish": facts.finish,
            "stats": None if facts.stats is None else asdict(facts.stats),
            "marks": facts.marks,
            "rounds": rounds_value(facts.rounds),
        }
    return value


def _chats(value: Any) -> list[tuple[Chat, list[ChatMessage]]]:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise BadInput(f"no export of chats; its format would be '{FORMAT}'.")
    if (version := value.get("version")) != VERSION:
        raise BadInput(f"this is version {version} of the format; this mlx-spec reads {VERSION}.")
    return [_chat(chat) for chat in _objects(value, "chats")]


def _chat(value: dict[str, Any]) -> tuple[Chat, list[ChatMessage]]:
    chat = _checked(Chat, value | {"options": options_from(value.get("options"))})
    if not chat.id:
        raise BadInput("a chat without an id.")
    messages = [_message(chat.id, message) for message in _objects(value, "messages")]
    _check_order(messages)
    return chat, messages


def _message(chat: str, value: dict[str, Any]) -> ChatMessage:
    facts = None
    if value.get("role") == "assistant":
        options, rounds = options_from(value.get("options")), named_rounds(value.get("rounds"))
        stats = value.get("stats")
        if isinstance(stats, dict) and not _STATS <= stats.keys():
            stats = None  # another version wrote fewer numbers than this one shows
        facts = _checked(AnswerFacts, value | {"options": options, "rounds": rounds, "stats": stats})
    return _checked(ChatMessage, value | {"chat": chat, "facts": facts})


def _objects(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    objects = value.get(name)
    if not isinstance(objects, list) or not all(isinstance(one, dict) for one in objects):
        raise BadInput(f"{name} is no list of objects.")
    return objects


def _checked(kind: type[T], value: dict[str, Any]) -> T:
    """An object of the file as one of ours; what another version of the program adds is left out."""
    from pydantic import ValidationError

    try:
        made = adapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        what = "missing" if first["type"] == "missing" else f"{first['input']!r:.40}: {first['msg'].lower()}"
        raise BadInput(f"in {value.get('id')!r:.40}, {name} is {what}.") from None
    for name in ("created", "changed"):
        if name in value and not is_time(seconds := float(value[name])):
            raise BadInput(f"{name} is {seconds:g}, which is no time in seconds since 1970.")
    return made


def _check_order(messages: Sequence[ChatMessage]) -> None:
    """A message comes after its parent, as they were written; so none is its own ancestor."""
    later = {message.id for message in messages}
    for message in messages:
        if message.parent in later:
            raise BadInput(f"the message {message.id} comes before {message.parent}, which it follows.")
        later.discard(message.id)


def _number(text: str) -> int | float:
    """A number of JSON; larger ones, infinity among them, stand in no chat of ours."""
    if not abs(value := float(text)) <= 2**64:
        raise BadInput(f"it holds the number {text[:20]}, which is none of a chat.")
    return value if set(text) & set(".eE") else int(text)
