"""Prompts that are being written or wait, in a file that is left behind where the program is killed."""

import fcntl
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TextIO
from uuid import uuid4

from app.history.records import adapter
from app.history.store import History
from app.history.unsent import Unsent, keep_unsent
from models.files import locked
from models.paths import data_folder


def folder() -> Path:
    return data_folder() / "unsent"


class BeingWritten:
    """Those of this program. The file is locked while it runs: others take over only what was left behind."""

    def __init__(self) -> None:
        self._file: TextIO | None = None

    def keep(self, prompts: Sequence[Unsent], chat_id: str) -> None:
        """Keep these and nothing else; OSError where they cannot be written."""
        if self._file is None:
            if not prompts:
                return
            with locked(folder()):
                place = folder() / f"{uuid4().hex}.json"
                self._file = open(place, "w", encoding="utf-8", opener=partial(os.open, mode=0o600))
                fcntl.flock(self._file, fcntl.LOCK_EX)
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps([chat_id, [asdict(one) for one in prompts]]))
        self._file.flush()

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
    from pydantic import ValidationError

    if not folder().is_dir():
        return
    with locked(folder()):
        for path in sorted(folder().glob("*.json")):
            with suppress(OSError), path.open(encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with suppress(ValidationError, ValueError):
                    chat_id, prompts = adapter(tuple[str, list[Unsent]]).validate_json(file.read())
                    keep_unsent(history, prompts, chat_id)
                path.unlink()
