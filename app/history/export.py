"""Chats as Markdown for people and as JSON that can be imported again."""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from app.engine.thinking import thought_of
from app.history.records import (
    AnswerFacts,
    Attachment,
    Chat,
    ChatMessage,
    Finish,
    adapter,
    chat_value,
    facts_from,
    message_value,
    options_from,
    read,
    time_of,
)
from app.history.store import History
from app.history.tree import MessageTree
from app.history.unsent import Unsent
from app.shell.errors import BadInput
from app.shell.named_file import free_place
from app.shell.number_text import answer_figures, counted
from app.shell.printable import json_text, one_line
from app.shell.prompt_source import read_text
from models.errors import reason_of

FORMAT = "mlx-spec chats"
VERSION = 1
LARGEST_EXPORT = 2**30
"""Bytes."""
Kind = Literal["markdown", "json"]

_ENDS: dict[Finish | None, str] = {
    "cancelled": "stopped",
    "length": "cut at the length limit",
    "failed": "the engine failed",
    None: "not finished",
}


def as_json(chats: Iterable[tuple[Chat, Sequence[ChatMessage]]]) -> dict[str, Any]:
    values = [chat_value(chat) | {"messages": list(map(message_value, messages))} for chat, messages in chats]
    return {"format": FORMAT, "version": VERSION, "chats": values}


def as_markdown(chat: Chat, messages: Sequence[ChatMessage]) -> str:
    tree = MessageTree(messages)
    path = tree.path(chat.leaf if chat.leaf in tree else tree.end_of(None))
    parts = [f"# {one_line(chat.title)}"]
    if chat.system:
        parts.append("## Instructions\n\n" + _closed(chat.system))
    for message in path:
        files = map(fenced, message.attachments)
        if (facts := message.facts) is None:
            parts += ["## You", _closed(message.text.strip()), *files]
        else:
            speaker = one_line(facts.pair) or "Answer"
            parts += [f"## {speaker}", *_answer(message.text), *files, f"*{_numbers(facts)}*"]
    if others := len(messages) - len(path):
        parts.append(f"*Without {counted(others, 'message')} of other branches; JSON has all.*")
    return "\n\n".join(filter(None, parts)) + "\n"


def _answer(text: str) -> list[str]:
    """An answer's thought as a quotation, and its text."""
    thought, answer_at, *_ = thought_of(text)
    quoted = "\n".join(f"> {line}".rstrip() for line in ("*Thought:*", "", *thought.split("\n")))
    return [quoted if thought else "", _closed(text[answer_at:].strip())]


def _closed(text: str) -> str:
    """A text whose last code block ends with it: one that was cut off would go on in what follows."""
    from markdown_it import MarkdownIt

    last = MarkdownIt("commonmark").parse(f"{text}\n\nbehind")[-1]
    return f"{text}\n{last.markup}" if last.type == "fence" else text


def fenced(attachment: Attachment) -> str:
    """A file's text under its name, in a fence longer than any inside."""
    longest = max(map(len, re.findall("`+", attachment.text)), default=0)
    marks = "`" * max(3, longest + 1)
    text = attachment.text if attachment.text.endswith("\n") else attachment.text + "\n"
    return f"File {one_line(attachment.name)}:\n{marks}\n{text}{marks}"


def exported(chats: Iterable[tuple[Chat, Sequence[ChatMessage]]], kind: Kind) -> str:
    if kind == "json":
        return json_text(as_json(chats)) + "\n"
    return "\n".join(as_markdown(*chat) for chat in chats)


def not_sent(prompts: Sequence[Unsent]) -> str:
    """Prompts that were not sent, with their files, as Markdown; empty without any."""
    texts = [
        text for one in prompts for text in (_closed(one.text.strip()), *map(fenced, one.attachments)) if text
    ]
    return "\n\n".join(["# Not sent", *texts]) + "\n" if texts else ""


def free_file(folder: Path, chat: Chat, kind: Kind) -> Path:
    """A new file for a chat, named after its title."""
    words = "-".join(re.findall(r"\w+", chat.title.lower()))[:40].strip("-") or "chat"
    suffix = ".md" if kind == "markdown" else ".json"
    return Path(f"{free_place(folder, words, suffix)}{suffix}")


def import_file(history: History, path: Path) -> tuple[int, int]:
    """Add the chats of an exported file; return how many were added and how many were there already."""
    hooks = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), _number)
    text = read_text(path, LARGEST_EXPORT)
    try:
        value = json.loads(text, **hooks)
        json.dumps(value, ensure_ascii=False).encode()  # JSON can escape a lone surrogate, UTF-8 has none
        chats = _chats(value)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise BadInput(f"{path} holds {half}, half of a character, which cannot be saved.") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} cannot be read as JSON: {reason_of(error)}.") from error
    ids = history.connection.execute("SELECT id FROM chats WHERE deleted IS NULL")
    known = {chat_id for (chat_id,) in ids}
    found = {chat.id: (chat, messages) for chat, messages in chats if chat.id not in known}
    new = found.values()
    history.add([chat for chat, _ in new], [message for _, messages in new for message in messages])
    return len(new), len(chats) - len(new)


def _numbers(facts: AnswerFacts) -> str:
    parts = [f"seed {facts.options.seed}", f"temperature {facts.options.temperature:g}"]
    if (stats := facts.stats) is not None:
        parts += answer_figures(stats)
        parts += [] if facts.covers_all else ["of the continuation only"]
    if facts.finish == "length" and stats is not None and stats.tokens < facts.options.max_tokens:
        parts.append("cut: the context is full")
    elif facts.finish in _ENDS:
        parts.append(_ENDS[facts.finish])
    return " · ".join(parts)


def _chats(value: Any) -> list[tuple[Chat, list[ChatMessage]]]:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise BadInput(f"not an export of chats, whose format is '{FORMAT}'.")
    if (version := value.get("version")) != VERSION:
        raise BadInput(f"this is version {version} of the format; this mlx-spec reads {VERSION}.")
    return [_chat(chat) for chat in _objects(value, "chats")]


def _chat(value: dict[str, Any]) -> tuple[Chat, list[ChatMessage]]:
    chat = _checked(Chat, value | {"options": options_from(value.get("options"))})
    if not chat.id:
        raise BadInput("a chat without an id.")
    messages = [_message(chat.id, message) for message in _objects(value, "messages")]
    tree = MessageTree(messages)
    for message in messages:
        if tree.parent(tree.path(message.id)[0]) is not None:
            raise BadInput(f"the message {message.id} follows itself.")
    return chat, messages


def _message(chat: str, value: dict[str, Any]) -> ChatMessage:
    facts = facts_from(value) if value.get("role") == "assistant" else None
    return _checked(ChatMessage, value | {"chat": chat, "facts": facts})


def _objects(value: dict[str, Any], name: str) -> list[dict[str, Any]]:
    if (objects := read(list[dict[str, Any]], value.get(name))) is None:
        raise BadInput(f"{name} is not a list of objects.")
    return objects


def _checked(kind: type, value: dict[str, Any]) -> Any:
    """A JSON object as a dataclass; fields that another version of the program adds are left out."""
    from pydantic import ValidationError

    try:
        made = adapter(kind).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(map(str, first["loc"]))
        what = "missing" if first["type"] == "missing" else f"{first['input']!r:.40}: {first['msg'].lower()}"
        raise BadInput(f"in {value.get('id')!r:.40}, {name} is {what}.") from None
    for name in ("created", "changed"):
        if name in value and time_of(seconds := float(value[name])) != seconds:
            raise BadInput(f"{name} is {seconds:g}, which is not a time in seconds since 1970.")
    return made


def _number(text: str) -> int | float:
    """A JSON number, if a chat can hold it: infinity is refused."""
    if not abs(value := float(text)) <= 2**64:
        raise BadInput(f"it holds the number {text[:20]}, which a chat cannot have.")
    return value if set(text) & set(".eE") else int(text)
