"""Downloads that had not ended when a program did, to be offered at the next start.

Each running program has one small file and a lock on it, which the system releases however the program ends:
a file without a lock belongs to none. A file has a line per change and the last whole one counts, so that a
kill while writing loses nothing.
"""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TextIO
from uuid import uuid4

from app.shell.errors import MachineFailed
from models.files import locked
from models.pairs.pair import PairSpec


class KeptPulls:
    """The file of this program; there is none while nothing is to be kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / f"{uuid4().hex}.jsonl"
        self._file: TextIO | None = None

    def take_over(self) -> dict[PairSpec, str]:
        """The downloads of programs that are gone, with why they failed; they are this program's from now on.

        Raises:
            MachineFailed: it cannot be written here, and stays theirs.
        """
        found: dict[PairSpec, str] = {}
        if not os.path.isdir(self._folder):
            return found
        with self._alone():
            for path in sorted(self._folder.glob("*.jsonl")):
                try:
                    file = path.open("r+", encoding="utf-8", errors="replace")
                except OSError:  # not this person's
                    continue
                with file:
                    if _lock(file):
                        found |= _last_whole(file.read())
                        if found:
                            self._append(found)
                        path.unlink(missing_ok=True)
        return found

    def write(self, pairs: Mapping[PairSpec, str]) -> None:
        """Keep these, with why they failed or nothing, and nothing else.

        Raises:
            MachineFailed: the disk is full, or the folder cannot be written.
        """
        if not pairs and self._file is None:
            return
        with self._alone():
            if pairs:
                self._append(pairs)
            else:
                self._path.unlink(missing_ok=True)
                self.close()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _append(self, pairs: Mapping[PairSpec, str]) -> None:
        if self._file is None:
            self._file = open(self._path, "a", encoding="utf-8", opener=partial(os.open, mode=0o600))
            _lock(self._file)
        kept = [(asdict(pair), error) for pair, error in pairs.items()]
        self._file.write(json.dumps(kept) + "\n")
        self._file.flush()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other program begins a file or takes one over meanwhile."""
        try:
            with locked(self._folder):
                yield
        except OSError as error:
            raise MachineFailed(
                f"Downloads that do not end will not be offered again: {self._path} cannot be written "
                f"({error.strerror})."
            ) from error


def _lock(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _last_whole(text: str) -> dict[PairSpec, str]:
    from pydantic import TypeAdapter, ValidationError  # slow to load, and seldom needed

    for line in reversed(text.splitlines()):
        with suppress(ValidationError):
            return dict(TypeAdapter(list[tuple[PairSpec, str]]).validate_json(line))
    return {}
