"""The unfinished files that a download that ended early leaves in the Hub's cache."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from models.pairs.installed import repository_folder

_STALE_SECONDS = 24 * 3600
_PARTIAL = ".mlx-spec.incomplete"
"""The Hub's library lists it among unfinished files, too."""


def partial_file(repo: str, blob: str) -> Path:
    """Where a pull keeps what came of a file so far, there or not; the next pull continues it."""
    return repository_folder(repo) / "blobs" / f"{blob}{_PARTIAL}"


def partial_files(repos: Iterable[str]) -> list[Path]:
    """What came so far of the files of these repositories."""
    return [file for file in _unfinished(repos) if file.name.endswith(_PARTIAL)]


def sweep_stale(repos: Iterable[str]) -> None:
    """Delete unfinished files, ours and other programs', that nobody has written to for a day."""
    for file in _unfinished(repos):
        with suppress(FileNotFoundError):  # Another program may end one meanwhile.
            if file.stat().st_mtime < time.time() - _STALE_SECONDS:
                file.unlink()


def _unfinished(repos: Iterable[str]) -> list[Path]:
    folders = [repository_folder(repo) / "blobs" for repo in repos]
    # Not Path.is_dir and not glob alone: both fail in a folder that may not be seen.
    return [file for folder in folders if os.path.isdir(folder) for file in folder.glob("*.incomplete")]
