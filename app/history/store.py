"""Chats in and out of the database. Every call belongs to the thread that opened it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.errors import BadInput
from app.history.database import Opened, is_there, open_database, transaction
from app.history.records import (
    AnswerFacts,
    Chat,
    ChatMessage,
    Preset,
    attachments_from,
    attachments_json,
    is_time,
    now,
    options_from,
    options_json,
    rounds_from,
    rounds_json,
    stats_from,
    stats_json,
)

TRIGRAM = 3
"""Shorter words are not in the index and are looked for in the texts themselves."""

HITS = 1000
"""Messages looked at for one search, the best first."""

KEPT_SECONDS = 7 * 86400.0
"""How long a deleted chat can be brought back."""

PROMPTS = 200
"""As many prompts can be walked with Up."""

EXCERPT = 30
"""Characters shown on each side of what was found."""


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


class History:
    """All chats of this machine's user."""

    def __init__(self, path: Path, opened: Opened) -> None:
        self.connection = opened.connection
        # SQLite's own LIKE and lower() know the cases of ASCII letters only.
        self.connection.create_function("casefold", 1, str.casefold, deterministic=True)
        self.path = path
        self.file = opened.file
        self.set_aside = opened.set_aside
        """Where the damaged file went whose place this one took."""

    @classmethod
    def open(cls, path: Path) -> "History":
        """Open the file, making it if there is none.

        Raises:
            MachineFailed: it cannot be opened or written.
        """
        return cls(path, open_database(path))

    @property
    def is_in_place(self) -> bool:
        """Whether this is still the file at its path: what is written into a moved one, nobody finds."""
        return is_there(self.path, self.file)

    def close(self) -> None:
        self.connection.close()

    def save(self, chats: Iterable[Chat], messages: Iterable[ChatMessage]) -> None:
        """Add or change rows, all or none.

        A chat that exists keeps its title and place in the archive: another instance may have changed
        them. One that was deleted and is written to again is back.
        """
        with transaction(self.connection):
            self.connection.executemany(_SAVE_CHAT, map(_chat_values, chats))
            self.connection.executemany(_SAVE_MESSAGE, map(_message_values, messages))

    def forget(self, message: ChatMessage) -> None:
        """Remove a message that came to nothing, and its chat if it has no other."""
        with transaction(self.connection):
            self.connection.execute(
                "DELETE FROM messages WHERE chat = ? AND id = ?", (message.chat, message.id)
            )
            self.connection.execute(
                "DELETE FROM chats WHERE id = ? AND NOT EXISTS (SELECT 1 FROM messages WHERE chat = ?)",
                (message.chat, message.chat),
            )

    def chats(self, *, archived: bool = False, deleted: bool = False, limit: int = 500) -> list[ChatRow]:
        """The chats that were changed last, newest first."""
        wanted = "c.deleted IS NOT NULL" if deleted else "c.deleted IS NULL AND c.archived = ?"
        values = (limit,) if deleted else (archived, limit)
        rows = self.connection.execute(
            f"{_SELECT_ROWS} WHERE {wanted} ORDER BY c.touched DESC LIMIT ?", values
        ).fetchall()
        return [_row(row) for row in rows]

    def search(self, text: str, limit: int = 200) -> list[ChatRow]:
        """Chats in which one message, or the title, has all the words; archived ones too."""
        words = text.split()
        if not words:
            return []
        titled: list[str] = []
        hits: dict[str, tuple[str, str]] = {}
        for chat_id, title in self.connection.execute("SELECT id, title FROM chats WHERE deleted IS NULL"):
            if all(word.casefold() in title.casefold() for word in words):
                titled.append(chat_id)
        long = " ".join('"' + word.replace('"', '""') + '"' for word in words if len(word) >= TRIGRAM)
        short = [word.casefold() for word in words if len(word) < TRIGRAM]
        source = "texts JOIN messages m ON m.number = texts.rowid" if long else "messages m"
        wanted = " AND ".join(["texts MATCH ?"] * bool(long) + ["instr(casefold(m.text), ?)"] * len(short))
        query = f"SELECT m.chat, m.id, m.text FROM {source} WHERE {wanted}"
        order = "rank" if long else "m.number DESC"
        for chat_id, message_id, message in self.connection.execute(
            f"{query} ORDER BY {order} LIMIT {HITS}", [long] * bool(long) + short
        ):
            hits.setdefault(chat_id, (message_id, excerpt(message, words)))
        found = list(dict.fromkeys([*titled, *hits]))[:limit]
        rows = self._rows(found)
        return [
            replace(row, hit=hit, excerpt=where)
            for row, (hit, where) in ((rows[i], hits.get(i, (None, ""))) for i in found if i in rows)
        ]

    def find(self, name: str) -> Chat:
        """The chat whose id begins so, or the one changed last for `last`.

        Raises:
            BadInput: none, or more than one.
        """
        if name == "last":
            rows = self.connection.execute(
                f"{_SELECT_CHAT} WHERE deleted IS NULL AND archived = 0 ORDER BY touched DESC LIMIT 1"
            ).fetchall()
            if not rows:
                raise BadInput("There is no chat yet.")
            return _chat(rows[0])
        rows = self.connection.execute(
            f"{_SELECT_CHAT} WHERE id LIKE ? ESCAPE '\\' LIMIT 2", (f"{_escaped(name)}%",)
        ).fetchall()
        if len(rows) != 1 or not name:
            many = "More than one chat's id begins" if rows and name else "No chat's id begins"
            raise BadInput(
                f"{many} with '{name}'. /sessions in the chat and `mlx-spec history list` show them."
            )
        return _chat(rows[0])

    def messages(self, chat: Chat) -> list[ChatMessage]:
        """All messages of a chat, every branch, in the order they were written."""
        rows = self.connection.execute(f"{_SELECT_MESSAGE} WHERE chat = ? ORDER BY number", (chat.id,))
        return [_message(row) for row in rows]

    def rename(self, chat_id: str, title: str) -> None:
        self._change("UPDATE chats SET title = ? WHERE id = ?", title, chat_id)

    def archive(self, chat_id: str, archived: bool) -> None:
        self._change("UPDATE chats SET archived = ? WHERE id = ?", archived, chat_id)

    def delete(self, chat_id: str) -> None:
        """Take a chat out of every list; `restore` brings it back for a week."""
        self._change("UPDATE chats SET deleted = ? WHERE id = ?", now(), chat_id)

    def restore(self, chat_id: str) -> None:
        """Undo `delete`."""
        self._change("UPDATE chats SET deleted = NULL WHERE id = ?", chat_id)

    def purge(self) -> None:
        """Remove for good what was deleted long ago."""
        # A clock that was wrong then says nothing about how long ago it was.
        self._change("UPDATE chats SET deleted = ? WHERE deleted < changed", now())
        self._change("DELETE FROM chats WHERE deleted < ?", now() - KEPT_SECONDS)
        self._change("DELETE FROM unsent WHERE rowid <= (SELECT MAX(rowid) FROM unsent) - ?", PROMPTS)

    def prompts(self, limit: int = PROMPTS) -> list[str]:
        """What was written last, sent or not, oldest first, each text once."""
        rows = self.connection.execute(
            "SELECT text FROM (SELECT m.text, m.number AS place, 0 AS turn FROM messages m "
            "JOIN chats c ON c.id = m.chat WHERE m.role = 'user' AND c.deleted IS NULL "
            "UNION ALL SELECT text, after, rowid FROM unsent) "
            "GROUP BY text ORDER BY MAX(place) DESC, MAX(turn) DESC LIMIT ?",
            (limit,),
        )
        return [text for (text,) in rows][::-1]

    def keep_unsent(self, texts: Iterable[str]) -> None:
        """Have prompts that were not sent among those that `prompts` gives, as the last ones."""
        last = "(SELECT COALESCE(MAX(number), 0) FROM messages)"
        with transaction(self.connection):
            self.connection.executemany(f"INSERT INTO unsent VALUES (?, {last})", [(text,) for text in texts])

    def presets(self) -> list[Preset]:
        """All presets by name."""
        rows = self.connection.execute("SELECT name, system, options FROM presets ORDER BY name")
        return [Preset(name, system, options_from(options)) for name, system, options in rows]

    def save_preset(self, preset: Preset) -> None:
        """Add a preset, or replace the one of its name."""
        values = (preset.name, preset.system, options_json(preset.options))
        self._change("INSERT OR REPLACE INTO presets VALUES (?, ?, ?)", *values)

    def delete_preset(self, name: str) -> bool:
        """Remove a preset; False if there is none of this name."""
        return self._change("DELETE FROM presets WHERE name = ?", name) > 0

    def _change(self, statement: str, *values: Any) -> int:
        with transaction(self.connection):
            return self.connection.execute(statement, values).rowcount

    def _rows(self, ids: Sequence[str]) -> dict[str, ChatRow]:
        rows = self.connection.execute(
            f"{_SELECT_ROWS} WHERE c.deleted IS NULL AND c.id IN (SELECT value FROM json_each(?))",
            (json.dumps(ids),),
        )
        return {row.chat.id: row for row in map(_row, rows)}


def excerpt(text: str, words: Sequence[str]) -> str:
    """The place in a text where the first of the words stands, on one line."""
    line = " ".join(text.split())
    folded = line.lower()
    place = min((at for word in words if (at := folded.find(word.lower())) >= 0), default=0)
    start, end = max(0, place - EXCERPT), place + 2 * EXCERPT
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


_SAVE_CHAT = """
INSERT INTO chats (id, title, created, changed, archived, system, options, drafting, leaf, touched)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT COALESCE(MAX(touched), 0) + 1 FROM chats))
ON CONFLICT (id) DO UPDATE SET changed = excluded.changed, system = excluded.system,
options = excluded.options, drafting = excluded.drafting, leaf = excluded.leaf, deleted = NULL,
touched = excluded.touched
"""

_SAVE_MESSAGE = """
INSERT INTO messages
(id, chat, parent, role, text, created, attachments, pair, options, finish, stats, marks, rounds)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (chat, id) DO UPDATE SET text = excluded.text, pair = excluded.pair,
options = excluded.options, finish = excluded.finish, stats = excluded.stats, marks = excluded.marks,
rounds = excluded.rounds
"""

_CHAT_COLUMNS = "id, title, created, changed, archived, system, options, drafting, leaf"
_SELECT_CHAT = f"SELECT {_CHAT_COLUMNS} FROM chats"
_SELECT_MESSAGE = (
    "SELECT id, chat, parent, role, text, created, attachments, "
    "pair, options, finish, stats, marks, rounds FROM messages"
)
_SELECT_ROWS = f"""
SELECT {", ".join(f"c.{name}" for name in _CHAT_COLUMNS.split(", "))},
(SELECT COUNT(*) FROM messages m WHERE m.chat = c.id),
(SELECT m.pair FROM messages m WHERE m.chat = c.id AND m.pair IS NOT NULL ORDER BY m.number DESC LIMIT 1),
c.deleted
FROM chats c
"""


def _escaped(word: str) -> str:
    for sign in "\\%_":
        word = word.replace(sign, f"\\{sign}")
    return word


def _chat_values(chat: Chat) -> tuple[Any, ...]:
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


def _message_values(message: ChatMessage) -> tuple[Any, ...]:
    facts = message.facts
    return (
        message.id,
        message.chat,
        message.parent,
        message.role,
        message.text,
        message.created,
        attachments_json(message.attachments),
        *(
            (None,) * 6
            if facts is None
            else (
                facts.pair,
                options_json(facts.options),
                facts.finish,
                stats_json(facts.stats),
                facts.marks,
                rounds_json(facts.rounds),
            )
        ),
    )


def _chat(row: Sequence[Any]) -> Chat:
    chat_id, title, created, changed, archived, system, options, drafting, leaf = row
    times = _time(created), _time(changed)
    return Chat(chat_id, title, *times, bool(archived), system, options_from(options), bool(drafting), leaf)


def _time(seconds: float) -> float:
    """1970 where the file holds no time: once, an import could bring anything."""
    return seconds if is_time(seconds) else 0.0


def _row(row: Sequence[Any]) -> ChatRow:
    *chat, messages, pair, deleted = row
    return ChatRow(_chat(chat), messages, pair or "", deleted=deleted is not None)


def _message(row: Sequence[Any]) -> ChatMessage:
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
