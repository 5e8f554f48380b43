"""State that survives a kill: one file per process, taken over by the next process."""

import fcntl
import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TextIO
from uuid import uuid4

from models.files import locked

LARGEST = 1_000_000
"""Characters after which a file is emptied before the next write."""


class LeftBehind:
    """One small file per running process, in a shared folder.

    A process locks its file, and the system releases the lock however the process ends: an unlocked file was
    left behind. A file has a line per change and the last complete one counts, so that a kill while writing
    loses nothing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: TextIO | None = None

    def keep(self, value: object) -> None:
        """Replace the kept value; OSError if it cannot be written."""
        with locked(self._folder):
            self._write(value)

    def drop(self) -> None:
        """Delete the file."""
        if self._file is not None:
            Path(self._file.name).unlink(missing_ok=True)
            self.close()

    def close(self) -> None:
        """Close the file and leave it for the next process."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()  # fails if what it holds cannot be written

    def take_over(self, kind: Any, take: Callable[[Any], object]) -> None:
        """Call `take` with the value, of type `kind`, of every process that has ended, and delete its file.

        What `take` returns is kept, unless it is None. OSError if it cannot be written; the file that it
        came from then stays.
        """
        if not os.path.isdir(self._folder):
            return
        with locked(self._folder):
            for path in sorted(self._folder.glob("*.json*")):
                try:
                    file = path.open("r+", encoding="utf-8", errors="replace")
                except OSError:  # another user's
                    continue
                with file:
                    if _lock(file):
                        value = _last_whole(kind, file.read())
                        kept = None if value is None else take(value)
                        if kept is not None:
                            self._write(kept)
                        path.unlink(missing_ok=True)

    def _write(self, value: object) -> None:
        if self._file is None:
            place = self._folder / f"{uuid4().hex}.jsonl"
            self._file = open(place, "a", encoding="utf-8", opener=partial(os.open, mode=0o600))
            _lock(self._file)
        if self._file.tell() > LARGEST:
            self._file.truncate(0)
        self._file.write(json.dumps(value) + "\n")
        self._file.flush()


def _lock(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _last_whole(kind: Any, text: str) -> Any:
    from pydantic import TypeAdapter, ValidationError  # slow to load, and seldom needed

    for line in reversed(text.splitlines()):
        with suppress(ValidationError):
            return TypeAdapter(kind).validate_json(line)
    return None
