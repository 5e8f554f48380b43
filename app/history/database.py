"""The history's file: where it is, its tables, their versions, and what happens to a damaged one."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.errors import MachineFailed
from models.paths import data_folder

BUSY_SECONDS = 5.0
"""How long to wait for another instance that writes."""

MIGRATIONS = (
    """
    CREATE TABLE chats (
        id TEXT PRIMARY KEY,
        title TEXT NOT NULL,
        created REAL NOT NULL,
        changed REAL NOT NULL,
        archived INTEGER NOT NULL DEFAULT 0,
        deleted REAL,
        system TEXT NOT NULL,
        options TEXT NOT NULL,
        drafting INTEGER NOT NULL,
        leaf TEXT
    ) STRICT;
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        chat TEXT NOT NULL REFERENCES chats (id) ON DELETE CASCADE,
        parent TEXT,
        role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
        text TEXT NOT NULL,
        created REAL NOT NULL,
        attachments TEXT NOT NULL,
        pair TEXT,
        options TEXT,
        finish TEXT,
        stats TEXT,
        marks TEXT,
        rounds TEXT,
        UNIQUE (chat, id)
    ) STRICT;
    CREATE TABLE presets (
        name TEXT PRIMARY KEY,
        system TEXT NOT NULL,
        options TEXT NOT NULL
    ) STRICT;
    CREATE VIRTUAL TABLE texts USING fts5 (
        text, content = 'messages', content_rowid = 'number', tokenize = 'trigram'
    );
    CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
        INSERT INTO texts (rowid, text) VALUES (new.number, new.text);
    END;
    CREATE TRIGGER message_removed AFTER DELETE ON messages BEGIN
        INSERT INTO texts (texts, rowid, text) VALUES ('delete', old.number, old.text);
    END;
    CREATE TRIGGER message_changed AFTER UPDATE OF text ON messages BEGIN
        INSERT INTO texts (texts, rowid, text) VALUES ('delete', old.number, old.text);
        INSERT INTO texts (rowid, text) VALUES (new.number, new.text);
    END;
    """,
    # The order in which chats were changed, whatever the clock did.
    """
    ALTER TABLE chats ADD COLUMN touched INTEGER NOT NULL DEFAULT 0;
    UPDATE chats SET touched = (SELECT COUNT(*) FROM chats AS other WHERE other.changed <= chats.changed);
    """,
)
"""One script per `PRAGMA user_version`, applied in order. Released ones never change.

Trigrams find parts of words, in scripts without blanks and in code alike.
"""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open database."""

    connection: sqlite3.Connection
    set_aside: Path | None
    """Where the damaged file went whose place it took."""


def history_file() -> Path:
    """The one file of all chats. SQLite puts two more beside it while it is open."""
    return data_folder() / "history.db"


def open_database(path: Path) -> Opened:
    """Open the file, making or updating it; to be used on the calling thread only.

    Raises:
        MachineFailed: it cannot be opened or written, or a newer version wrote it.
    """
    try:
        return Opened(_connected(path), None)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise MachineFailed(f"The chat history {path} cannot be opened: {error}.") from error
    except OSError as error:
        raise MachineFailed(f"The chat history {path} cannot be opened: {error}.") from error
    aside = set_aside(path)
    try:
        return Opened(_connected(path), aside)
    except (sqlite3.DatabaseError, OSError) as error:
        raise MachineFailed(f"The chat history {path} cannot be opened: {error}.") from error


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """The file is no database, or a broken one; not merely full, locked or unreadable."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def set_aside(path: Path) -> Path:
    """Give a damaged file another name; return it."""
    stem = f"{path.stem}-damaged-{time.strftime('%Y%m%d-%H%M%S')}"
    aside, number = path.with_name(f"{stem}{path.suffix}"), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f"{stem}-{number}{path.suffix}")
    for end in ("", "-wal", "-shm"):
        part = path.with_name(path.name + end)
        if part.exists():
            part.rename(aside.with_name(aside.name + end))
    return aside


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Everything inside, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself rolls back where the disk is full
            connection.execute("ROLLBACK")
        raise


def _connected(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives its other files the mode of this one.
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    path.chmod(0o600)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")
        for (verdict,) in connection.execute("PRAGMA quick_check(1)").fetchall():
            if verdict != "ok":
                damage = sqlite3.DatabaseError(verdict)
                damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
                raise damage
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    if _version(connection) == len(MIGRATIONS):
        return
    with transaction(connection):
        version = _version(connection)  # another instance may have been faster
        if version > len(MIGRATIONS):
            raise MachineFailed(
                f"The chat history {path} was written by a newer mlx-spec (version {version} of its tables, "
                f"this one knows {len(MIGRATIONS)}). Update mlx-spec, or set MLX_SPEC_HOME to another folder."
            )
        for script in MIGRATIONS[version:]:
            for statement in _statements(script):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _statements(script: str) -> Iterator[str]:
    """The script's statements one by one: `executescript` would end the transaction."""
    statement = ""
    for line in script.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
