"""Reads and writes chats in the database. Call it only from the thread that opened it."""

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from app.history.database import damaged, has_all, history_file, open_database, open_to_read, unusable
from app.history.records import (
    AnswerFacts,
    Chat,
    ChatMessage,
    ChatRow,
    Preset,
    attachments_from,
    chat_value,
    column_value,
    facts_from,
    json_column,
    message_value,
    now,
    options_from,
    options_value,
    time_of,
)
from app.shell.errors import BadInput, MachineFailed
from app.shell.output import talk

TRIGRAM = 3
"""Characters. Shorter words are not in the index and are searched in the texts themselves."""

HITS = 1000
"""Messages looked at for one search, the best first."""

KEPT_SECONDS, PROMPTS = 7 * 86400.0, 200
"""How long a deleted chat can be restored; how many prompts can be recalled with Up."""

EXCERPT = 30
"""Characters shown before the word found; twice as many from its start on."""

_CHAT, _FACTS = ([field.name for field in fields(kind)] for kind in (Chat, AnswerFacts))
_MESSAGE = [field.name for field in fields(ChatMessage) if field.name != "facts"] + _FACTS
_JSON = ("options", "attachments", "stats", "rounds")

_SAVE_CHAT = f"""
INSERT INTO chats ({", ".join(_CHAT)}, touched)
VALUES ({"?, " * len(_CHAT)}(SELECT COALESCE(MAX(touched), 0) + 1 FROM chats))
ON CONFLICT (id) DO UPDATE SET system = excluded.system, options = excluded.options, leaf = excluded.leaf,
drafting = excluded.drafting, keeps_seed = excluded.keeps_seed, deleted = NULL
"""

_CHANGE_CHAT = """UPDATE chats SET changed = ?, touched = (SELECT MAX(touched) + 1 FROM chats)
WHERE id = ? AND changed != ?"""

_PLACE_CHAT = """
UPDATE chats SET touched = (
    SELECT COALESCE(MAX(touched), 0) FROM chats AS o WHERE o.changed <= chats.changed AND o.id != chats.id
) WHERE id = ?
"""

_SAVE_MESSAGE = f"""
INSERT INTO messages ({", ".join(_MESSAGE)}) VALUES (?{", ?" * (len(_MESSAGE) - 1)})
ON CONFLICT (chat, id) DO UPDATE SET text = excluded.text,
{", ".join(f"{name} = excluded.{name}" for name in _FACTS)}
"""

_SELECT_MESSAGES = f"SELECT {', '.join(_MESSAGE)} FROM messages WHERE chat = ? ORDER BY number"
_HAS_ALL = "has_all(CAST({} AS BLOB), ?)"
_SELECT_ROWS = f"""
SELECT {", ".join(f"c.{name}" for name in _CHAT)},
(SELECT COUNT(*) FROM messages m WHERE m.chat = c.id),
(SELECT m.pair FROM messages m WHERE m.chat = c.id AND m.pair IS NOT NULL ORDER BY m.number DESC LIMIT 1),
c.deleted
FROM chats c
"""


class History:
    def __init__(self, path: Path, *, to_read: bool = False) -> None:
        """Open or create the file; `set_aside` is the new path of a damaged one.

        `to_read`: a read-only file is accepted; `refusal` is then why it cannot be written.
        """
        self.set_aside: Path | None = None
        self.refusal: MachineFailed | None = None
        try:
            self.connection, self.file, self.set_aside = open_database(path)
        except MachineFailed as error:
            if not to_read or (opened := open_to_read(path)) is None:
                raise
            (self.connection, self.file), self.refusal = opened, error
        # SQLite's own LIKE and lower() handle the case of ASCII letters only. Python refuses a damaged TEXT.
        self.connection.create_function("has_all", 2, has_all, deterministic=True)

    def close(self) -> None:
        self.connection.close()

    def save(self, chats: Collection[Chat], messages: Collection[ChatMessage]) -> None:
        """Add or change rows, all or none. A deleted chat is restored.

        An existing chat keeps title, archive and, without messages, time: another instance may change them.
        """
        with self.connection:
            self.connection.executemany(_SAVE_CHAT, [_row(_CHAT, chat_value(chat)) for chat in chats])
            with_messages = {one.chat for one in messages}
            times = [(c.changed, c.id, c.changed) for c in chats if c.id in with_messages]
            self.connection.executemany(_CHANGE_CHAT, times)
            rows = [_row(_MESSAGE, message_value(one) | {"chat": one.chat}) for one in messages]
            self.connection.executemany(_SAVE_MESSAGE, rows)

    def add(self, chats: Sequence[Chat], messages: Collection[ChatMessage]) -> None:
        """Like `save`, for imported chats: they are listed among the others by their time of change."""
        self.save(chats, messages)
        with self.connection:
            # Reset first: `save` listed them as the newest, which must not count for one of the same time.
            self.connection.executemany("UPDATE chats SET touched = 0 WHERE id = ?", [(c.id,) for c in chats])
            in_order = [(chat.id,) for chat in sorted(chats, key=lambda chat: chat.changed)]
            self.connection.executemany(_PLACE_CHAT, in_order)

    def forget(self, message: ChatMessage) -> None:
        """Remove a message, and its chat if it has no other."""
        with self.connection:
            ids = message.chat, message.id
            self.connection.execute("DELETE FROM messages WHERE chat = ? AND id = ?", ids)
            alone = "id = ? AND NOT EXISTS (SELECT 1 FROM messages WHERE chat = chats.id)"
            self.connection.execute(f"DELETE FROM chats WHERE {alone}", ids[:1])

    def chats(self, *, archived: bool = False, deleted: bool = False, limit: int = -1) -> list[ChatRow]:
        """The chats that were changed last, newest first; -1: all."""
        wanted = "c.deleted IS NOT NULL" if deleted else f"c.deleted IS NULL AND c.archived = {archived:d}"
        return self._rows(f"{wanted} ORDER BY c.touched DESC, c.changed DESC LIMIT ?", limit)

    def search(self, text: str) -> list[ChatRow]:
        """Chats with all words in the title, newest first, then in a message or its files; archived too."""
        words = _storable(text).split()
        if not words:
            return []
        titled = f"SELECT id FROM chats WHERE {_HAS_ALL.format('title')} ORDER BY touched DESC"
        ids = self.connection.execute(titled, [" ".join(words)])
        hits: dict[str, tuple[str | None, str]] = {chat_id: (None, "") for (chat_id,) in ids}
        long = " ".join('"' + word.replace('"', '""') + '"' for word in words if len(word) >= TRIGRAM)
        short = " ".join(word for word in words if len(word) < TRIGRAM)
        source = "texts JOIN searched m ON m.number = texts.rowid" if long else "searched m"
        wanted = " AND ".join(["texts MATCH ?"] * bool(long) + [_HAS_ALL.format("m.text")] * bool(short))
        order = "rank, m.number DESC" if long else "m.number DESC"
        for chat_id, message_id, message in self.connection.execute(
            f"SELECT m.chat, m.id, m.text FROM {source} WHERE {wanted} ORDER BY {order} LIMIT {HITS}",
            [*filter(None, (long, short))],
        ):
            if hits.get(chat_id, (None, ""))[0] is None:
                hits[chat_id] = message_id, _excerpt(message, words)
        there = "c.deleted IS NULL AND c.id IN (SELECT value FROM json_each(?))"
        rows = self._rows(there, json.dumps([*hits]))
        by_id = {row.chat.id: row for row in rows}
        return [replace(by_id[i], hit=hit, excerpt=text) for i, (hit, text) in hits.items() if i in by_id]

    def find(self, name: str) -> Chat:
        """The chat whose id begins with `name`, or the one changed last for `last`."""
        is_last = name == "last"
        rows = self.chats(limit=1) if is_last else self._rows("instr(c.id, ?) = 1 LIMIT 2", _storable(name))
        if is_last and not rows:
            others = "`mlx-spec history list --archived` and --deleted show others."
            raise BadInput(f"The list of chats is empty. {others}")
        if len(rows) != 1 or not name:
            many = "More than one chat's id begins" if rows and name else "No chat's id begins"
            lists = "`mlx-spec history list` (also with --archived or --deleted)"
            raise BadInput(f"{many} with '{name}'. /sessions in the chat and {lists} show them.")
        return rows[0].chat

    def messages(self, chat: Chat) -> list[ChatMessage]:
        """All messages of a chat, every branch, in the order they were written."""
        return [_message_from(row) for row in self.connection.execute(_SELECT_MESSAGES, (chat.id,))]

    def answers(self) -> dict[str, str]:
        """The answers of each chat that is not deleted, every branch, in the order they were written."""
        rows = self.connection.execute(
            "SELECT m.chat, m.text FROM messages m JOIN chats c ON c.id = m.chat "
            "WHERE m.role = 'assistant' AND c.deleted IS NULL ORDER BY m.number"
        )
        answers: dict[str, list[str]] = {}
        for chat_id, text in rows:
            answers.setdefault(chat_id, []).append(text)
        return {chat_id: "\n\n".join(texts) for chat_id, texts in answers.items()}

    def rename(self, chat_id: str, title: str) -> bool:
        """Like `archive` and `delete`: False if the chat was never saved."""
        return self._change("UPDATE chats SET title = ? WHERE id = ?", title, chat_id) > 0

    def archive(self, chat_id: str, archived: bool) -> bool:
        return self._change("UPDATE chats SET archived = ? WHERE id = ?", archived, chat_id) > 0

    def delete(self, chat_id: str) -> bool:
        """Hide a chat from every list; `restore` brings it back for a week."""
        return self._change("UPDATE chats SET deleted = ? WHERE id = ?", now(), chat_id) > 0

    def restore(self, chat_id: str) -> bool:
        return self._change("UPDATE chats SET deleted = NULL WHERE id = ?", chat_id) > 0

    def purge(self) -> None:
        # Deleted before its last change: the clock was wrong, so the week begins now.
        self._change("UPDATE chats SET deleted = ? WHERE deleted < changed", now())
        old = now() - KEPT_SECONDS
        gone = "chat IN (SELECT id FROM chats WHERE deleted < ?)"
        self._change(f"UPDATE unsent SET chat = NULL, attachments = '[]' WHERE {gone}", old)
        self._change("DELETE FROM chats WHERE deleted < ?", old)
        self._change("DELETE FROM unsent WHERE rowid <= (SELECT MAX(rowid) FROM unsent) - ?", PROMPTS)

    def prompts(self, limit: int = PROMPTS) -> list[str]:
        """The latest prompts, sent or not, oldest first, each text once."""
        rows = self.connection.execute(
            "SELECT text FROM (SELECT m.text, m.number AS place, 0 AS turn FROM messages m "
            "JOIN chats c ON c.id = m.chat WHERE m.role = 'user' AND c.deleted IS NULL "
            "UNION ALL SELECT text, after, rowid FROM unsent WHERE text != '') "
            "GROUP BY text ORDER BY MAX(place) DESC, MAX(turn) DESC LIMIT ?",
            (limit,),
        )
        return [text for (text,) in rows][::-1]

    def presets(self) -> list[Preset]:
        rows = self.connection.execute("SELECT name, system, options FROM presets ORDER BY name")
        return [Preset(name, system, options_from(column_value(options))) for name, system, options in rows]

    def save_preset(self, preset: Preset) -> None:
        values = (preset.name, preset.system, json_column(options_value(preset.options)))
        self._change("INSERT OR REPLACE INTO presets VALUES (?, ?, ?)", *values)

    def delete_preset(self, name: str) -> bool:
        """Remove a preset; False if there is none of this name."""
        return self._change("DELETE FROM presets WHERE name = ?", name) > 0

    def _change(self, statement: str, *values: Any) -> int:
        with self.connection:
            return self.connection.execute(statement, values).rowcount

    def _rows(self, where: str, *values: Any) -> list[ChatRow]:
        return [_row_from(row) for row in self.connection.execute(f"{_SELECT_ROWS} WHERE {where}", values)]


@contextmanager
def opened_history(*, to_read: bool = False) -> Iterator[History]:
    """The open history; a damaged file that was replaced is reported. `to_read`: as in `History`.

    MachineFailed if it cannot be used: another program has locked it, or the disk is full."""
    history = History(history_file(), to_read=to_read)
    try:
        if history.set_aside is not None:
            talk(damaged(history.set_aside))
        yield history
    except sqlite3.Error as error:
        raise unusable(history_file(), error) from error
    finally:
        history.close()


def _excerpt(text: str, words: Sequence[str]) -> str:
    line = " ".join(text.split())
    folded = line.lower()
    place = min((at for word in words if (at := folded.find(word.lower())) >= 0), default=0)
    start, end = max(0, place - EXCERPT), place + 2 * EXCERPT
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def _storable(text: str) -> str:
    """Replace lone surrogates, which stand for bytes of a command line that are no UTF-8."""
    return text.encode(errors="replace").decode()


def _row_from(row: Sequence[Any]) -> ChatRow:
    *columns, messages, pair, deleted = row
    value = _value(_CHAT, columns)
    for name in ("archived", "drafting", "keeps_seed"):
        value[name] = bool(value[name])
    for name in ("created", "changed"):
        value[name] = time_of(value[name])
    value["options"] = options_from(value["options"])
    return ChatRow(Chat(**value), messages, pair or "", deleted=deleted is not None)


def _message_from(row: Sequence[Any]) -> ChatMessage:
    value = _value(_MESSAGE, row)
    facts = None if value["pair"] is None else AnswerFacts(**facts_from(value))
    for name in _FACTS:
        del value[name]
    files = attachments_from(value["attachments"])
    return ChatMessage(**value | {"created": time_of(value["created"]), "attachments": files, "facts": facts})


def _row(names: Sequence[str], value: dict[str, Any]) -> list[Any]:
    columns = ((name, value.get(name)) for name in names)
    return [json_column(one) if name in _JSON and one is not None else one for name, one in columns]


def _value(names: Sequence[str], row: Sequence[Any]) -> dict[str, Any]:
    columns = zip(names, row, strict=True)
    return {name: column_value(one) if name in _JSON else one for name, one in columns}
