"""Rows of the history's tables: the statements that write and read them, and the values they become."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.history.records import (
    AnswerFacts,
    Chat,
    ChatMessage,
    attachments_from,
    attachments_json,
    is_time,
    options_from,
    options_json,
    rounds_from,
    rounds_json,
    stats_from,
    stats_json,
)

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
        options_json(chat.options),
        chat.drafting,
        chat.leaf,
    )


def message_values(message: ChatMessage) -> tuple[Any, ...]:
    """For `SAVE_MESSAGE`."""
    known: tuple[Any, ...] = (None,) * 6
    if (facts := message.facts) is not None:
        options, stats, rounds = (
            options_json(facts.options),
            stats_json(facts.stats),
            rounds_json(facts.rounds),
        )
        known = facts.pair, options, facts.finish, stats, facts.marks, rounds
    return (
        message.id,
        message.chat,
        message.parent,
        message.role,
        message.text,
        message.created,
        attachments_json(message.attachments),
        *known,
    )


def chat_from(row: Sequence[Any]) -> Chat:
    """Of `SELECT_CHAT`."""
    chat_id, title, created, changed, archived, system, options, drafting, leaf = row
    times = _time(created), _time(changed)
    return Chat(chat_id, title, *times, bool(archived), system, options_from(options), bool(drafting), leaf)


def row_from(row: Sequence[Any]) -> ChatRow:
    """Of `SELECT_ROWS`."""
    *chat, messages, pair, deleted = row
    return ChatRow(chat_from(chat), messages, pair or "", deleted=deleted is not None)


def message_from(row: Sequence[Any]) -> ChatMessage:
    """Of `SELECT_MESSAGE`."""
    *head, attachments, pair, options, finish, stats, marks, rounds = row
    facts = None
    if pair is not None:
        facts = AnswerFacts(
            pair, options_from(options), finish, stats_from(stats), marks or "", rounds_from(rounds)
        )
    message_id, chat, parent, role, text, created = head
    return ChatMessage(
        message_id, chat, parent, role, text, _time(created), attachments_from(attachments), facts
    )


def _time(seconds: float) -> float:
    """1970 where the file holds no time: once, an import could bring anything."""
    return seconds if is_time(seconds) else 0.0
