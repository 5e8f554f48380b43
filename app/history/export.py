"""Chats as Markdown for people and as JSON that can be imported again."""

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from app.engine.events import DraftRound
from app.history.records import (
    AnswerFacts,
    Attachment,
    Chat,
    ChatMessage,
    Finish,
    is_time,
    options_from,
    options_json,
    rounds_from,
    rounds_json,
    stats_from,
)
from app.history.store import History
from app.history.tree import MessageTree
from app.history.typed import wrong_field
from app.shell.errors import BadInput
from app.shell.output_file import write_text
from app.shell.printable import json_text, one_line
from mlx_spec.stats import Stats
from models.files import parse_json

FORMAT = "mlx-spec chats"
VERSION = 1

LARGEST_IMPORT_BYTES = 500_000_000


def as_json(chats: Iterable[tuple[Chat, Sequence[ChatMessage]]]) -> dict[str, Any]:
    """Everything that is kept of the chats, every branch."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "chats": [_chat_json(chat, messages) for chat, messages in chats],
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
            raise BadInput(f"{path} has more than {LARGEST_IMPORT_BYTES // 10**6} MB; that is no export.")
        value = parse_json(path.read_text("utf-8"))
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise BadInput(f"{path} holds {half}, half of a character, which no text can keep.") from None
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise BadInput(f"{path} cannot be read as JSON: it is no UTF-8 text.") from None
    except ValueError as error:
        raise BadInput(f"{path} cannot be read as JSON: {error}.") from error
    try:
        return _import(history, value)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, BadInput):
            raise BadInput(f"{path}: {error}") from error
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise BadInput(f"{path} is no whole export: {what}.") from error


def _free_path(chat: Chat, suffix: str) -> Path:
    words = "-".join(re.findall(r"[\w]+", chat.title.lower()))[:40].strip("-") or "chat"
    path, number = Path(f"{words}{suffix}"), 1
    while path.exists():
        number += 1
        path = Path(f"{words}-{number}{suffix}")
    return path


def _import(history: History, value: Any) -> tuple[int, int]:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise BadInput(f"no export of chats; its format would be '{FORMAT}'.")
    if value["version"] != VERSION:
        raise BadInput(f"this is version {value['version']} of the format; this mlx-spec reads {VERSION}.")
    known = {
        chat_id for (chat_id,) in history.connection.execute("SELECT id FROM chats WHERE deleted IS NULL")
    }
    read = [_chat_from(chat) for chat in value["chats"]]
    new = {chat.id: (chat, messages) for chat, messages in read if chat.id not in known}
    new = dict(sorted(new.items(), key=lambda item: item[1][0].changed))
    history.save((chat for chat, _ in new.values()), (m for _, messages in new.values() for m in messages))
    return len(new), len(read) - len(new)


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


def _chat_json(chat: Chat, messages: Sequence[ChatMessage]) -> dict[str, Any]:
    return {
        "id": chat.id,
        "title": chat.title,
        "created": chat.created,
        "changed": chat.changed,
        "archived": chat.archived,
        "system": chat.system,
        "options": json.loads(options_json(chat.options)),
        "drafting": chat.drafting,
        "leaf": chat.leaf,
        "messages": [_message_json(message) for message in messages],
    }


def _message_json(message: ChatMessage) -> dict[str, Any]:
    facts = message.facts
    value: dict[str, Any] = {
        "id": message.id,
        "parent": message.parent,
        "role": message.role,
        "text": message.text,
        "created": message.created,
        "attachments": [asdict(attachment) for attachment in message.attachments],
    }
    if facts is not None:
        value |= {
            "pair": facts.pair,
            "options": json.loads(options_json(facts.options)),
            "finish": facts.finish,
            "stats": None if facts.stats is None else asdict(facts.stats),
            "marks": facts.marks,
            "rounds": json.loads(rounds_json(facts.rounds)),
        }
    return value


def _chat_from(value: dict[str, Any]) -> tuple[Chat, list[ChatMessage]]:
    chat = Chat(
        id=_text(value, "id"),
        title=_text(value, "title"),
        created=_time(value, "created"),
        changed=_time(value, "changed"),
        archived=bool(value["archived"]),
        system=_text(value, "system"),
        options=options_from(value["options"]),
        drafting=bool(value["drafting"]),
        leaf=None if value["leaf"] is None else _text(value, "leaf"),
    )
    if not chat.id:
        raise BadInput("a chat without an id.")
    messages = [replace(_message_from(m), chat=chat.id) for m in value["messages"]]
    _check_order(messages)
    return chat, messages


def _check_order(messages: Sequence[ChatMessage]) -> None:
    """A message comes after its parent, as they were written; so none is its own ancestor."""
    later = {message.id for message in messages}
    for message in messages:
        if message.parent in later:
            raise BadInput(f"the message {message.id} comes before {message.parent}, which it follows.")
        later.discard(message.id)


def _message_from(value: dict[str, Any]) -> ChatMessage:
    role = value["role"]
    if role not in ("user", "assistant"):
        raise BadInput(f"a message's role is '{role}'; it must be user or assistant.")
    facts = None
    if role == "assistant":
        finish = value["finish"]
        if finish not in ("stop", "length", "cancelled", "failed", None):
            raise BadInput(f"an answer's finish is '{finish}'.")
        rounds = rounds_from(value["rounds"])
        _check_types(value, rounds)
        options, stats = options_from(value["options"]), stats_from(value["stats"])
        facts = AnswerFacts(_text(value, "pair"), options, finish, stats, _text(value, "marks"), rounds)
    attachments = tuple(Attachment(_text(a, "name"), _text(a, "text")) for a in value["attachments"])
    parent = None if value["parent"] is None else _text(value, "parent")
    message_id, text = _text(value, "id"), _text(value, "text")
    return ChatMessage(message_id, "", parent, role, text, _time(value, "created"), attachments, facts)


def _check_types(value: dict[str, Any], rounds: Iterable[DraftRound]) -> None:
    """Figures that are no figures would stop the chat from opening."""
    stats = value["stats"] if isinstance(value["stats"], dict) else {}
    figures = [("stats", Stats, stats), *(("rounds", DraftRound, asdict(played)) for played in rounds)]
    for where, kind, values in figures:
        if name := wrong_field(kind, values):
            wrong = json.dumps(values[name])[:40]
            raise BadInput(f"in {where} of the message {value['id']}, {name} is {wrong}, which it cannot be.")


def _time(value: dict[str, Any], name: str) -> float:
    try:
        seconds = float(value[name])
    except OverflowError:
        seconds = math.inf
    except (TypeError, ValueError):
        raise BadInput(f"{name} is no time in seconds since 1970.") from None
    if not is_time(seconds):
        raise BadInput(f"{name} is {seconds:g}, which is no time in seconds since 1970.")
    return seconds


def _text(value: dict[str, Any], name: str) -> str:
    text = value[name]
    if not isinstance(text, str):
        raise BadInput(f"{name} is no text.")
    return text
