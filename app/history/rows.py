"""Rows of the history's tables: the statements that write and read them, and the values they become."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from app.history.records import (
    AnswerFacts,
    Attachment,
    Chat,
    ChatMessage,
    as_value,
    is_time,
    options_from,
    read,
    rounds_from,
    rounds_value,
)
from mlx_spec.stats import Stats

SAVE_CHAT = """
INSERT INTO chats (id, title, created, changed, archived, system, options, drafting, leaf, touched)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT COALESCE(MAX(touched), 0) + 1 FROM chats))
ON CONFLICT (id) DO UPDATE SET changed = excluded.changed, system = excluded.system,
options = excluded.options, drafting = excluded.drafting, leaf = excluded.leaf, deleted = NULL,
touched = excluded.touched
"""

SAVE_MESSAGE = """
INSERT INTO messages
(id, chat, parent, role, text, created, attachments, pair, options, finish, stats, marks, rounds)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (chat, id) DO UPDATE SET text = excluded.text, pair = excluded.pair,
options = excluded.options, finish = excluded.finish, stats = excluded.stats, marks = excluded.marks,
rounds = excluded.rounds
"""

_CHAT_COLUMNS = "id, title, created, changed, archived, system, options, drafting, leaf"
SELECT_CHAT = f"SELECT {_CHAT_COLUMNS} FROM chats"
SELECT_MESSAGE = (
    "SELECT id, chat, parent, role, text, created, attachments, "
    "pair, options, finish, stats, marks, rounds FROM messages"
)
SELECT_ROWS = f"""
SELECT {", ".join(f"c.{name}" for name in _CHAT_COLUMNS.split(", "))},
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


def chat_values(chat: Chat) -> tuple[Any, ...]:
    """For `SAVE_CHAT`."""
    return (
        chat.id,
        chat.title,
        chat.created,
        chat.changed,
        chat.archived,
        chat.system,
        json_column(as_value(chat.options)),
        chat.drafting,
        chat.leaf,
    )


def message_values(message: ChatMessage) -> tuple[Any, ...]:
    """For `SAVE_MESSAGE`."""
    known: tuple[Any, ...] = (None,) * 6
    if (facts := message.facts) is not None:
        known = (
            facts.pair,
            json_column(as_value(facts.options)),
            facts.finish,
            None if facts.stats is None else json_column(asdict(facts.stats)),
            facts.marks,
            json_column(rounds_value(facts.rounds)),
        )
    head = message.id, message.chat, message.parent, message.role, message.text, message.created
    return *head, attachments_column(message.attachments), *known


def chat_from(row: Sequence[Any]) -> Chat:
    """Of `SELECT_CHAT`."""
    chat_id, title, created, changed, archived, system, options, drafting, leaf = row
    facts = bool(archived), system, options_from(json.loads(options)), bool(drafting), leaf
    return Chat(chat_id, title, _time(created), _time(changed), *facts)


def row_from(row: Sequence[Any]) -> ChatRow:
    """Of `SELECT_ROWS`."""
    *chat, messages, pair, deleted = row
    return ChatRow(chat_from(chat), messages, pair or "", deleted=deleted is not None)


def message_from(row: Sequence[Any]) -> ChatMessage:
    """Of `SELECT_MESSAGE`."""
    message_id, chat, parent, role, text, created, files, pair, options, finish, stats, marks, rounds = row
    facts = None
    if pair is not None:
        facts = AnswerFacts(
            pair=pair,
            options=options_from(json.loads(options)),
            finish=finish,
            stats=read(Stats, json.loads(stats or "null")),
            marks=marks or "",
            rounds=rounds_from(json.loads(rounds or "null")),
        )
    return ChatMessage(message_id, chat, parent, role, text, _time(created), attachments_from(files), facts)


def attachments_column(attachments: Sequence[Attachment]) -> str:
    return json_column([asdict(attachment) for attachment in attachments])


def attachments_from(column: str) -> tuple[Attachment, ...]:
    return tuple(Attachment(**values) for values in json.loads(column))


def json_column(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _time(seconds: float) -> float:
    """1970 where the file holds no time: once, an import could bring anything."""
    return seconds if is_time(seconds) else 0.0
