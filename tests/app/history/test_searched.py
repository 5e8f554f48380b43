"""What a search opens, and that it looks in the texts of a prompt's files, which a long paste is one of."""

import sqlite3
from dataclasses import replace
from pathlib import Path

from app.history.database import MIGRATIONS
from app.history.records import Attachment
from app.history.store import History
from tests.app.history.some_chat import answer, chat, prompt

PASTED = (Attachment("pasted text", 'Ökonomie:\n"three" packages'), Attachment("b.py", "import needle  # ok"))


def hits(history: History, text: str) -> list[tuple[str | None, str]]:
    return [(row.hit, row.excerpt) for row in history.search(text)]


def test_pasted_and_attached_texts_are_found_by_long_and_short_words(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db")
    asked = replace(prompt("p1", "What is this?"), attachments=PASTED)
    history.save([chat()], [asked])
    for words in ("ökonomie", "three packages", "this needle", '"three"', "ok"):
        ((hit, excerpt),) = hits(history, words)
        assert hit == "p1" and words.split()[0] in excerpt.lower()
    history.save([chat()], [replace(asked, text="Why?")])
    assert hits(history, "what") == [] and hits(history, "needle why") != []
    history.forget(asked)
    rows = history.connection.execute("SELECT COUNT(*) FROM texts WHERE texts MATCH 'needle OR why'")
    assert rows.fetchone() == (0,)
    history.close()


def test_files_of_chats_from_before_are_found_beside_ones_that_cannot_be_read(tmp_path: Path) -> None:
    history, path = History(tmp_path / "history.db"), tmp_path / "older.db"
    connection = sqlite3.connect(path)
    connection.executescript("".join(MIGRATIONS[:6]) + "PRAGMA user_version = 6")
    history.save([chat()], [replace(prompt("p1", "What is this?"), attachments=PASTED)])
    for table in ("chats", "messages"):
        for row in history.connection.execute(f"SELECT * FROM {table}"):
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
    for number, odd in enumerate(("", "{broken", "5", '["packed"]', '[{"text": [1]}]')):
        values = (f"odd{number}", "c1", "user", f"needless{number}", 0.0, odd)
        connection.execute(
            "INSERT INTO messages (id, chat, role, text, created, attachments) VALUES (?, ?, ?, ?, ?, ?)",
            values,
        )
    connection.commit()
    connection.close()
    older = History(path)
    assert hits(older, "packages") == hits(history, "packages") != [] != hits(older, "what")
    assert [hit for n in range(5) for hit, _ in hits(older, f"needless{n}")] == [f"odd{n}" for n in range(5)]
    history.close()
    older.close()


def test_of_the_same_text_in_two_branches_the_latest_is_opened(tmp_path: Path) -> None:
    history = History(tmp_path / "history.db")
    history.save([chat()], [prompt("p1", "why"), answer("a1", "p1", "needle"), answer("a2", "p1", "needle")])
    assert [hit for hit, _ in hits(history, "needle")] == ["a2"]
    history.close()
