"""The unfinished files that a download that ended early leaves in the Hub's cache.

Two kinds: those of the Hub's library, which nothing ever continues, and our own partial files
(`models.hub.partial_file`), which the next pull continues.
"""

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
    """Where a pull keeps what came of a file so far, there or not."""
    return repository_folder(repo) / "blobs" / f"{blob}{_PARTIAL}"


def partial_files(repos: Iterable[str]) -> frozenset[Path]:
    """What came so far of the files of these repositories."""
    return frozenset(p for p in _unfinished(repos) if p.name.endswith(_PARTIAL))


def partial_bytes(repo: str, blob: str) -> int:
    """How much of a file is here."""
    try:
        return partial_file(repo, blob).stat().st_size
    except OSError:
        return 0


def incomplete_files(repos: Iterable[str]) -> frozenset[Path]:
    """Unfinished files of these repositories that nothing continues, ours and other programs'."""
    return frozenset(_unfinished(repos)) - partial_files(repos)


def sweep(files: Iterable[Path]) -> None:
    """Delete these."""
    for file in files:
        file.unlink(missing_ok=True)


def sweep_stale(files: Iterable[Path]) -> None:
    """Delete those of these that nobody has written to for a day. Another program may end one meanwhile."""
    old = time.time() - _STALE_SECONDS
    for file in files:
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < old:
                file.unlink()


def _unfinished(repos: Iterable[str]) -> list[Path]:
    folders = [repository_folder(repo) / "blobs" for repo in repos]
    # Not Path.is_dir and not glob alone: both fail in a folder that may not be seen.
    return [file for folder in folders if os.path.isdir(folder) for file in folder.glob("*.incomplete")]
