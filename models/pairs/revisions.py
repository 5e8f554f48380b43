"""Which commit a pulled model stands at, kept on this machine.

A pull resolves a branch once and writes the commit down here; from then on the model is found, loaded
and pulled again at this commit, without asking the Hub.
"""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from models.files import atomic_write, locked, parse_json
from models.pairs.pair import Source
from models.paths import revisions_file

_COMMIT = re.compile(r"[0-9a-f]{40}")

_Table = dict[str, dict[str, str]]
"""Commits by repository and revision."""


def is_commit(revision: str) -> bool:
    """Whether a revision names a commit, not a branch or tag."""
    return bool(_COMMIT.fullmatch(revision))


def recorded_commit(source: Source) -> str | None:
    """The commit this source was pulled at; None if it never was."""
    return _read().get(source.repo, {}).get(source.asked_revision)


def record_commit(source: Source, commit: str) -> None:
    """Remember that this source stands at the commit."""

    def record(table: _Table) -> None:
        table.setdefault(source.repo, {})[source.asked_revision] = commit

    _change(record)


def forget(repo: str, commit: str) -> None:
    """Drop what is remembered of a repository at a commit."""

    def drop(table: _Table) -> None:
        kept = {revision: sha for revision, sha in table.pop(repo, {}).items() if sha != commit}
        if kept:
            table[repo] = kept

    _change(drop)


def _read() -> _Table:
    """What of the file is unreadable counts as not there: the Hub's cache still knows its branches."""
    try:
        found = parse_json(revisions_file().read_text(encoding="utf-8"))
        return {repo: commits for repo, commits in found.items() if _are_commits(commits)}
    except (OSError, ValueError, AttributeError):
        return {}


def _are_commits(found: Any) -> bool:
    return isinstance(found, dict) and all(isinstance(commit, str) for commit in found.values())


def _change(change: Callable[[_Table], None]) -> None:
    """Best effort: where our folder cannot be written, the cache's branches have to do."""
    file = revisions_file()
    with suppress(OSError), locked(file.parent):
        table = _read()
        change(table)
        atomic_write(file, json.dumps(table, indent=2))
