"""Partial files of interrupted downloads in the Hub's cache."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from models.pairs.installed import repository_folder

_STALE_SECONDS = 24 * 3600
_PARTIAL = ".mlx-spec.incomplete"
"""The ending makes the Hub's library count them as unfinished too."""


def partial_file(repo: str, blob: str) -> Path:
    """Where a pull writes a file until it is whole; the next pull resumes it. It may not exist."""
    return repository_folder(repo) / "blobs" / f"{blob}{_PARTIAL}"


def sweep_stale(repo: str) -> None:
    """Delete unfinished files, ours and other programs', that were not written to for a day."""
    for file in partial_files(repo, ".incomplete"):
        with suppress(FileNotFoundError):  # another program may finish it meanwhile
            if file.stat().st_mtime < time.time() - _STALE_SECONDS:
                file.unlink()


def partial_files(repo: str, ending: str = _PARTIAL) -> list[Path]:
    """The unfinished files of a repository: of our pulls, as another program may still write its own."""
    folder = repository_folder(repo) / "blobs"
    # Path.is_dir and glob fail in a folder without permission; os.path.isdir does not.
    return [*folder.glob(f"*{ending}")] if os.path.isdir(folder) else []


def is_arriving(repo: str) -> bool:
    """Whether a pull, of any program, is writing a file of the repository: it holds a lock on it."""
    for file in partial_files(repo):
        with suppress(OSError), file.open() as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False
