"""The history's file: where it is, its tables, their versions, and what happens to a damaged one."""

import os
import sqlite3
from contextlib import ExitStack, suppress
from datetime import datetime
from pathlib import Path

from app.shell.errors import MachineFailed
from models.files import locked
from models.paths import data_folder

BUSY_SECONDS = 5.0

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
    # Prompts that were written and not sent, with the number of the last message before them.
    "CREATE TABLE unsent (text TEXT NOT NULL, after INTEGER NOT NULL) STRICT;",
    # The chat that gets the prompt back when it is opened; NULL once given back.
    "ALTER TABLE unsent ADD COLUMN chat TEXT;",
    # The prompt's attachments, until given back.
    "ALTER TABLE unsent ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';",
    # Whether the person set the chat's seed.
    "ALTER TABLE chats ADD COLUMN keeps_seed INTEGER NOT NULL DEFAULT 0;",
    # What a search looks in: a message and the texts that were pasted or attached.
    """
    DROP TRIGGER message_added;
    DROP TRIGGER message_removed;
    DROP TRIGGER message_changed;
    DROP TABLE texts;
    CREATE VIEW searched (number, chat, id, text) AS SELECT number, chat, id, text || COALESCE((
        SELECT group_concat(char(10) || atom, '')
        FROM json_tree(CASE WHEN json_valid(attachments) THEN attachments END) WHERE key = 'text'
    ), '') FROM messages;
    CREATE VIRTUAL TABLE texts USING fts5 (text, content = '', tokenize = 'trigram');
    INSERT INTO texts (rowid, text) SELECT number, text FROM searched;
    CREATE TRIGGER message_added AFTER INSERT ON messages BEGIN
        INSERT INTO texts (rowid, text) SELECT number, text FROM searched WHERE number = new.number;
    END;
    CREATE TRIGGER message_removed BEFORE DELETE ON messages BEGIN
        INSERT INTO texts (texts, rowid, text)
        SELECT 'delete', number, text FROM searched WHERE number = old.number;
    END;
    CREATE TRIGGER message_changes BEFORE UPDATE OF text ON messages BEGIN
        INSERT INTO texts (texts, rowid, text)
        SELECT 'delete', number, text FROM searched WHERE number = old.number;
    END;
    CREATE TRIGGER message_changed AFTER UPDATE OF text ON messages BEGIN
        INSERT INTO texts (rowid, text) SELECT number, text FROM searched WHERE number = new.number;
    END;
    """,
)
"""One script per `PRAGMA user_version`, applied in order. Released ones never change.

Trigrams find parts of words, in scripts without blanks and in code alike.
"""


def history_file() -> Path:
    """The one file of all chats. SQLite puts two more beside it while it is open."""
    return data_folder() / "history.db"


def open_database(path: Path) -> tuple[sqlite3.Connection, os.stat_result, Path | None]:
    """Open or create the file, for this thread only; also return its identity and a damaged one's path."""
    try:
        # Nobody opens a file while another instance sets it aside or changes its tables.
        with locked(path.parent):
            try:
                return *_connected(path), None
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # a message may quote damage
                if isinstance(error, sqlite3.DatabaseError) and not is_damage(error):
                    raise
                aside = _renamed(path)
                return *_connected(path), aside
    except (OSError, sqlite3.DatabaseError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        hint = "MLX_SPEC_HOME names another folder."
        raise MachineFailed(f"The chat history {path} cannot be opened: {why}. {hint}") from error


def open_to_read(path: Path) -> tuple[sqlite3.Connection, os.stat_result | None] | None:
    """Open a read-only file, for this thread only, or an empty one in memory in place of a missing one; None
    if it is writable or has older tables. MachineFailed if it has newer ones."""
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        return None
    with suppress(sqlite3.DatabaseError, OSError), ExitStack() as stack:
        try:
            file = path.stat()
            # Without `immutable` SQLite writes files beside this one even to read it, unless a program that
            # was killed left them; and with it what is in them alone, the latest changes, is not read.
            log, index = (f"{path.resolve()}{end}" for end in ("-wal", "-shm"))
            are_left = os.access(log, os.R_OK) and os.path.getsize(log) and os.access(index, os.R_OK)
            mode = "mode=ro" if are_left else "immutable=1"
            name = f"{path.resolve().as_uri()}?{mode}"
        except FileNotFoundError:
            file, name = None, "file::memory:"
        connection = sqlite3.connect(name, uri=True)
        stack.callback(connection.close)
        connection.text_factory = text_of
        _migrate(connection, path)
        stack.pop_all()
        return connection, file
    return None


def unusable(path: Path, error: Exception) -> MachineFailed:
    why = f"The chat history {path} cannot be used: {error}."
    return MachineFailed(f"{why} Try again, or name another folder in MLX_SPEC_HOME.")


def damaged(aside: Path) -> str:
    return f"The chat history was damaged. It is kept as {aside}, and a new one began."


def is_in_place(path: Path, file: os.stat_result | None) -> bool:
    """Whether the path still leads to this file: another instance or a person may have moved it."""
    try:
        return file is None or os.path.samestat(path.stat(), file)
    except OSError:
        return False


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """The file is no database, or a broken one; not merely full, locked or unreadable."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def set_aside(path: Path, file: os.stat_result | None) -> Path | None:
    """Rename a damaged file; return its new path, or None if another instance was faster."""
    with locked(path.parent):
        return _renamed(path) if is_in_place(path, file) else None


def _renamed(path: Path) -> Path:
    aside = path.with_stem(f"{path.stem}-damaged-{datetime.now():%Y%m%d-%H%M%S-%f}")
    for end in ("", "-wal", "-shm"):
        part = path.with_name(path.name + end)
        if part.exists():
            part.rename(aside.with_name(aside.name + end))
    return aside


def _connected(path: Path) -> tuple[sqlite3.Connection, os.stat_result]:
    # SQLite gives its other files the mode of this one.
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    file = os.fstat(descriptor)
    os.close(descriptor)
    path.chmod(0o600)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level="IMMEDIATE")
    connection.text_factory = text_of
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")
        ((verdict,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        if verdict != "ok":
            damage = sqlite3.DatabaseError(verdict)
            damage.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise damage
        _migrate(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection, file


def text_of(value: bytes) -> str:
    """A text of which a damaged byte loses only its character."""
    return value.decode(errors="replace")


def has_all(text: bytes, words: str) -> bool:
    """Whether a text has all words, of which a condition of SQL has room for some hundreds only."""
    folded = text_of(text).casefold()
    return all(word in folded for word in words.casefold().split())


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise MachineFailed(
            f"The chat history {path} was written by a newer mlx-spec (version {version} of its tables, "
            f"this one knows {len(MIGRATIONS)}). Update mlx-spec, or set MLX_SPEC_HOME to another folder."
        )
    if version < len(MIGRATIONS):
        script = "".join(MIGRATIONS[version:])
        connection.executescript(f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {len(MIGRATIONS)}; COMMIT")
