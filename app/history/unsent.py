"""Prompts that were not sent: a chat gets them back once; `History.prompts` gives them ever after."""

from collections.abc import Iterable

from app.history.database import transaction
from app.history.store import History

_OF_CHAT = "WHERE chat = ?1 OR (?1 IS NULL AND chat NOTNULL AND chat NOT IN (SELECT id FROM chats))"


def keep_unsent(history: History, texts: Iterable[str], chat_id: str | None = None) -> None:
    """Keep prompts as the last ones of all.

    Args:
        chat_id: the chat that gets them back, saved or not; none does without it.
    """
    last = "(SELECT COALESCE(MAX(number), 0) FROM messages)"
    with transaction(history.connection):
        history.connection.executemany(
            f"INSERT INTO unsent (text, after, chat) VALUES (?, {last}, ?)",
            [(text, chat_id) for text in texts],
        )


def unsent(history: History, chat_id: str | None) -> list[str]:
    """What a chat has to get back, oldest first; without an id, what chats that were never saved had."""
    rows = history.connection.execute(f"SELECT text FROM unsent {_OF_CHAT} ORDER BY rowid", (chat_id,))
    return [text for (text,) in rows]


def gave_back(history: History, chat_id: str | None) -> None:
    """What `unsent` gives for this chat was given back."""
    with transaction(history.connection):
        history.connection.execute(f"UPDATE unsent SET chat = NULL {_OF_CHAT}", (chat_id,))
