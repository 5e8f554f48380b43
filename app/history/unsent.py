"""Unsent prompts: a chat gets them back once; `History.prompts` keeps listing their texts."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from app.history.records import Attachment, attachments_from, column_value, json_column
from app.history.store import History

_OF_CHAT = "WHERE chat = :chat OR (:chat IS NULL AND chat NOTNULL AND chat NOT IN (SELECT id FROM chats))"


@dataclass(frozen=True, slots=True)
class Unsent:
    text: str
    attachments: tuple[Attachment, ...] = ()


def keep_unsent(history: History, prompts: Iterable[Unsent], chat_id: str | None = None) -> None:
    """Keep prompts as the latest ones; the chat, saved or not, gets them back."""
    last = "(SELECT COALESCE(MAX(number), 0) FROM messages)"
    with history.connection:
        history.connection.executemany(
            f"INSERT INTO unsent (text, after, chat, attachments) VALUES (?, {last}, ?, ?)",
            [(one.text, chat_id, json_column(asdict(one)["attachments"])) for one in prompts],
        )


def unsent(history: History, chat_id: str | None) -> list[Unsent]:
    """The prompts a chat gets back, oldest first; without an id, those of chats that were never saved."""
    rows = history.connection.execute(
        f"SELECT text, attachments FROM unsent {_OF_CHAT} ORDER BY rowid", {"chat": chat_id}
    )
    return [Unsent(text, attachments_from(column_value(files))) for text, files in rows]


def gave_back(history: History, chat_id: str | None) -> None:
    """Mark the prompts that `unsent` returns for this chat as given back."""
    with history.connection:
        history.connection.execute(
            f"UPDATE unsent SET chat = NULL, attachments = '[]' {_OF_CHAT}", {"chat": chat_id}
        )
