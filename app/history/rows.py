"""Rows of the history's tables: the statements that write and read them, and the values they become."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.history.records import (
    AnswerFacts,
    Attachment,
    Chat,
    ChatMessage,
    chat_value,
    facts_from,
    is_time,
    message_value,
    options_from,
)

_CHAT = ("id", "title", "created", "changed", "archived", "system", "options", "drafting", "leaf")
_MESSAGE = ("id", "chat", "parent", "role", "text", "created", "attachments")
_FACTS = ("pair", "options", "finish", "stats", "marks", "rounds")
_JSON = ("options", "attachments", "stats", "rounds")

SAVE_CHAT = f"""
INSERT INTO chats ({", ".join(_CHAT)}, touched)
VALUES (:{", :".join(_CHAT)}, (SELECT COALESCE(MAX(touched), 0) + 1 FROM chats))
ON CONFLICT (id) DO UPDATE SET changed = excluded.changed, system = excluded.system,
options = excluded.options, drafting = excluded.drafting, leaf = excluded.leaf, deleted = NULL,
touched = excluded.touched
"""

SAVE_MESSAGE = f"""
INSERT INTO messages ({", ".join(_MESSAGE + _FACTS)}) VALUES (:{", :".join(_MESSAGE + _FACTS)})
ON CONFLICT (chat, id) DO UPDATE SET text = excluded.text,
{", ".join(f"{name} = excluded.{name}" for name in _FACTS)}
"""

SELECT_MESSAGE = f"SELECT {', '.join(_MESSAGE + _FACTS)} FROM messages"
SELECT_ROWS = f"""
SELECT {", ".join(f"c.{name}" for name in _CHAT)},
(SELECT COUNT(*) FROM messages m WHERE m.chat = c.id),
(SELECT m.pair FROM messages m WHERE m.chat = c.id AND m.pair IS NOT NULL ORDER BY m.number DESC LIMIT 1),
c.deleted
FROM chats c
"""


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A chat in a list."""

    chat: Chat
    messages: int
    """Over all branches."""
    pair: str
    """Of the last answer; empty if there is none."""
    hit: str | None = None
    """Id of the message that has what was looked for; None if only the title has it."""
    excerpt: str = ""
    """Around the place in that message."""
    deleted: bool = False


def chat_columns(chat: Chat) -> dict[str, Any]:
    """For `SAVE_CHAT`."""
    return _columns(chat_value(chat))


def message_columns(message: ChatMessage) -> dict[str, Any]:
    """For `SAVE_MESSAGE`."""
    return dict.fromkeys(_FACTS) | _columns(message_value(message))


def row_from(row: Sequence[Any]) -> ChatRow:
    """Of `SELECT_ROWS`."""
    *columns, messages, pair, deleted = row
    value = _value(_CHAT, columns)
    for name in ("archived", "drafting"):
        value[name] = bool(value[name])
    for name in ("created", "changed"):
        value[name] = _time(value[name])
    value["options"] = options_from(value["options"])
    return ChatRow(Chat(**value), messages, pair or "", deleted=deleted is not None)


def message_from(row: Sequence[Any]) -> ChatMessage:
    """Of `SELECT_MESSAGE`."""
    known = _value(_FACTS, row[len(_MESSAGE) :])
    facts = None if known["pair"] is None else AnswerFacts(**facts_from(known))
    value = _value(_MESSAGE, row[: len(_MESSAGE)])
    files = attachments_from(value["attachments"])
    return ChatMessage(**value | {"created": _time(value["created"]), "attachments": files, "facts": facts})


def attachments_from(values: Any) -> tuple[Attachment, ...]:
    return tuple(Attachment(**value) for value in values)


def json_column(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _columns(value: dict[str, Any]) -> dict[str, Any]:
    return {k: json_column(one) if k in _JSON and one is not None else one for k, one in value.items()}


def _value(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    columns = zip(names, row, strict=True)
    return {k: json.loads(one) if k in _JSON and one is not None else one for k, one in columns}


def _time(seconds: float) -> float:
    """1970 where the file holds no time: once, an import could bring anything."""
    return seconds if is_time(seconds) else 0.0
