"""The unfinished files that a killed download leaves in the Hub's cache."""

import time
from collections.abc import Iterable
from pathlib import Path

from models.installed import repository_folder

_STALE_SECONDS = 24 * 3600


def incomplete_files(repos: Iterable[str]) -> frozenset[Path]:
    """Unfinished files of these repositories, whoever writes them."""
    return frozenset(p for repo in repos for p in (repository_folder(repo) / "blobs").glob("*.incomplete"))


def sweep(files: Iterable[Path]) -> None:
    """Delete these."""
    for file in files:
        file.unlink(missing_ok=True)


def sweep_stale(repos: Iterable[str]) -> None:
    """Delete what nobody has written to for a day: downloads never continue an unfinished file."""
    old = time.time() - _STALE_SECONDS
    sweep(file for file in incomplete_files(repos) if file.exists() and file.stat().st_mtime < old)
