"""Prompts that were not sent: a chat gets them back once; `History.prompts` gives their texts ever after."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from app.history.records import Attachment
from app.history.store import History, attachments_from, json_column

_OF_CHAT = "WHERE chat = ?1 OR (?1 IS NULL AND chat NOTNULL AND chat NOT IN (SELECT id FROM chats))"


@dataclass(frozen=True, slots=True)
class Unsent:
    text: str
    attachments: tuple[Attachment, ...] = ()


def keep_unsent(history: History, prompts: Iterable[Unsent], chat_id: str | None = None) -> None:
    """Keep prompts as the last ones of all; the chat gets them back, saved or not."""
    last = "(SELECT COALESCE(MAX(number), 0) FROM messages)"
    with history.connection:
        history.connection.executemany(
            f"INSERT INTO unsent (text, after, chat, attachments) VALUES (?, {last}, ?, ?)",
            [(one.text, chat_id, json_column(asdict(one)["attachments"])) for one in prompts],
        )


def unsent(history: History, chat_id: str | None) -> list[Unsent]:
    """What a chat has to get back, oldest first; without an id, what chats that were never saved had."""
    rows = history.connection.execute(
        f"SELECT text, attachments FROM unsent {_OF_CHAT} ORDER BY rowid", (chat_id,)
    )
    return [Unsent(text, attachments_from(json.loads(files))) for text, files in rows]


def gave_back(history: History, chat_id: str | None) -> None:
    """What `unsent` gives for this chat was given back."""
    with history.connection:
        history.connection.execute(
            f"UPDATE unsent SET chat = NULL, attachments = '[]' {_OF_CHAT}", (chat_id,)
        )
