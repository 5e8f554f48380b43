"""Prompts that were not sent: a chat gets them back once; `History.prompts` gives their texts ever after."""

import fcntl
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TextIO
from uuid import uuid4

from app.history.records import Attachment, adapter
from app.history.store import History, attachments_from, json_column
from models.files import locked
from models.paths import data_folder

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


def _folder() -> Path:
    return data_folder() / "unsent"


class BeingWritten:
    """Prompts of this program that are being written or wait, in a file that is left behind if it is killed.

    The file is locked while the program runs: others take over only what was left behind.
    """

    def __init__(self) -> None:
        self._file: TextIO | None = None

    def keep(self, prompts: Sequence[Unsent], chat_id: str) -> None:
        """Keep these and nothing else; OSError where they cannot be written."""
        if self._file is None:
            if not prompts:
                return
            with locked(_folder()):
                place = _folder() / f"{uuid4().hex}.json"
                self._file = open(place, "w", encoding="utf-8", opener=partial(os.open, mode=0o600))
                fcntl.flock(self._file, fcntl.LOCK_EX)
        self._file.seek(0)
        self._file.write(json.dumps([chat_id, [asdict(one) for one in prompts]]))
        self._file.flush()
        self._file.truncate()  # at last: a kill before it leaves the end of older text, which is not read

    def end(self) -> None:
        """Leave nothing behind."""
        if self._file is not None:
            Path(self._file.name).unlink(missing_ok=True)
            self.close()

    def close(self) -> None:
        """Leave behind what is kept."""
        if self._file is not None:
            self._file.close()
            self._file = None


def take_over(history: History) -> None:
    """Give the history what programs left behind that were killed."""
    if not _folder().is_dir():
        return
    with locked(_folder()):
        for path in sorted(_folder().glob("*.json")):
            with suppress(OSError), path.open(encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with suppress(ValueError, RecursionError):
                    value, _ = json.JSONDecoder().raw_decode(file.read())
                    chat_id, prompts = adapter(tuple[str, list[Unsent]]).validate_python(value)
                    keep_unsent(history, prompts, chat_id)
                path.unlink()
