"""Saving while the program runs: nothing waits for it, nothing is lost, a failure is reported once."""

import os
import resource
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from app.history.database import history_file, set_aside
from app.history.records import ChatMessage
from app.history.saving import SAVE_SECONDS, HistoryThread, News
from app.history.store import History
from app.shell.errors import MachineFailed
from tests.app.history.some_chat import answer, branching, chat, prompt
from tests.app.read_only import read_only
from tests.waiting import until

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
WRITER = """
import sys, time
from pathlib import Path
from app.history.saving import HistoryThread
from tests.app.history.some_chat import answer, chat, prompt
saving = HistoryThread(Path(sys.argv[1]), print)
while True:
    now = time.time()
    saving.put(chat(), prompt("p", "hello"), answer("a", "p", f"{now}" + " word" * 2000))
    print(now, flush=True)
    time.sleep(0.02)
"""


def nothing(news: News) -> None:
    raise AssertionError(news)


def read(path: Path) -> list[ChatMessage]:
    history = History(path)
    try:
        rows = history.chats()
        return history.messages(rows[0].chat) if rows else []
    finally:
        history.close()


def put_at(path: Path) -> float:
    """Time at which the writer put the saved text."""
    return float(read(path)[-1].text.split()[0])


def test_what_was_put_is_there_for_the_next_question_and_after_closing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    saving = HistoryThread(path, nothing)
    saving.put(chat(), *branching())
    assert saving.ask(lambda history: history.messages(chat())).result(60) == branching()
    saving.put(chat(), answer("a9", "p1"))
    with pytest.raises(MachineFailed, match="no such table"):
        saving.ask(lambda history: history.connection.execute("SELECT * FROM absent")).result(60)
    assert saving.close() == 0
    assert len(read(path)) == 6


def test_a_growing_answer_is_written_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.history.saving.SAVE_SECONDS", 0.1)
    saving = HistoryThread(tmp_path / "history.db", nothing)
    saves: list[str] = []
    saving.ask(lambda history: history.connection.set_trace_callback(saves.append)).result(60)
    puts, begin = 0, time.monotonic()

    def put_and_count() -> bool:
        nonlocal puts
        puts += 1
        saving.put(chat(), answer("a", "p", "x" * puts))
        return sum("COMMIT" in statement for statement in saves) >= 3

    until(put_and_count)
    assert time.monotonic() - begin > 0.2 and puts > 3
    saving.close()


def test_a_program_killed_while_it_writes_keeps_what_it_saved_as_it_went(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    command = [sys.executable, "-c", WRITER, str(path)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    until(lambda: path.exists() and read(path))
    first = put_at(path)
    until(lambda: put_at(path) > first + SAVE_SECONDS)
    kept = put_at(path)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert put_at(path) >= kept and read(path)[-1].text.endswith(" word")


def test_trouble_is_told_once_what_waited_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that may not grow stands for a full disk: the system refuses to write."""
    monkeypatch.setattr("app.history.saving.RETRY_SECONDS", 0.05)
    news: list[News] = []
    saving = HistoryThread(tmp_path / "history.db", news.append)
    saving.put(chat(), prompt("p", "hello"))
    saving.ask(lambda history: history.chats()).result(60)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, before[1]))
    long = "long text " * 50_000
    try:
        saving.put(chat(), answer("a", "p", long))
        until(lambda: news)
        saving.put(chat(), prompt("p2", "goes on", "a"))
        time.sleep(0.2)
        assert [one.kind for one in news] == ["failed"] and saving.unsaved == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    until(lambda: news[-1].kind == "resumed")
    assert saving.close() == 0 and len(news) == 2
    assert [m.text for m in read(tmp_path / "history.db")] == ["hello", long, "goes on"]


def test_a_prompt_that_was_taken_back_while_nothing_could_be_saved_is_not_saved_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that the engine could not answer is in the input again: sent once more, it would be there twice."""
    monkeypatch.setattr("app.history.saving.RETRY_SECONDS", 0.05)
    monkeypatch.setattr("app.history.database.BUSY_SECONDS", 0)
    path, news = tmp_path / "history.db", list[News]()
    saving = HistoryThread(path, news.append)
    saved, waiting = prompt("p", "saved"), prompt("q", "waiting", chat_id="c2")
    saving.put(chat(), saved, prompt("r", "stays"))
    saving.ask(lambda history: history.chats()).result(60)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        saving.put(chat("c2"), waiting)
        saving.forget(waiting)
        saving.forget(saved)
        saving.flush()
        assert [one.kind for one in news] == ["failed"]
    until(lambda: news[-1].kind == "resumed")
    assert saving.close() == 0
    history = History(path)
    assert [row.chat.id for row in history.chats()] == ["c1"]
    assert [message.text for message in history.messages(chat())] == ["stays"]
    history.close()


def test_what_cannot_be_written_for_any_reason_is_told_and_questions_are_answered(tmp_path: Path) -> None:
    news: list[News] = []
    saving = HistoryThread(tmp_path / "history.db", news.append)
    saving.put(chat(), prompt("p", "half a character: \ud83d"))
    assert saving.ask(lambda history: history.chats()).result(60) == []
    assert [one.kind for one in news] == ["failed"] and saving.close() == 1


def test_closing_with_a_full_database_returns_how_much_could_not_be_written(tmp_path: Path) -> None:
    news: list[News] = []
    saving = HistoryThread(tmp_path / "history.db", news.append)
    saving.ask(lambda history: history.connection.execute("PRAGMA max_page_count = 1").fetchall()).result(60)
    saving.put(chat(), answer("a", "p", "long text " * 20_000))
    assert saving.close() == 1
    assert [one.kind for one in news] == ["failed"] and "full" in news[0].text


def test_an_unopened_file_is_not_reported_as_saved_again_with_nothing_to_save(tmp_path: Path) -> None:
    (tmp_path / "history.db").mkdir()
    news: list[News] = []
    saving = HistoryThread(tmp_path / "history.db", news.append)
    for _ in range(2):
        with pytest.raises(MachineFailed):
            saving.ask(lambda history: history.chats()).result(60)
    assert [one.kind for one in news] == ["failed"]
    saving.close()


def test_a_read_only_history_is_read_and_saved_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.history.saving.RETRY_SECONDS", 0.05)
    path, news = tmp_path / "history.db", list[News]()
    History(path).close()
    with read_only(tmp_path):
        saving = HistoryThread(path, news.append)
        for _ in range(2):
            assert saving.ask(lambda history: history.chats()).result(60) == []
        with pytest.raises(MachineFailed, match="readonly"):
            saving.ask(lambda history: history.rename("c1", "new")).result(60)
        saving.put(chat(), prompt("p", "hello"))
        saving.ask(lambda history: history.chats()).result(60)
        assert [one.kind for one in news] == ["failed"] and "Read-only file system" in news[0].text
        assert saving.unsaved == 1
    until(lambda: not saving.unsaved)
    assert saving.close() == 0 and [one.kind for one in news] == ["failed", "resumed"]
    assert [message.text for message in read(path)] == ["hello"]


@pytest.mark.parametrize("what", ["moved", "removed", "broken"])
def test_a_file_lost_while_open_is_noticed_and_a_new_one_has_all_in_view(tmp_path: Path, what: str) -> None:
    path = tmp_path / "history.db"
    news: list[News] = []

    def tell(one: News) -> None:
        news.append(one)
        saving.put(chat(), *branching())

    saving = HistoryThread(path, tell)
    saving.put(chat(), *branching())
    # Empty the log and the memory cache, so that the next write reads the file.
    for pragma in ("wal_checkpoint(TRUNCATE)", "cache_size = 0", "shrink_memory"):
        saving.ask(lambda history, p=pragma: history.connection.execute(f"PRAGMA {p}").fetchall()).result(60)
    if what == "broken":
        path.write_bytes(b"\xff" * path.stat().st_size)
    else:
        for file in tmp_path.glob("history.db*"):
            file.rename(tmp_path / f"moved{file.suffix}") if what == "moved" else file.unlink()
    saving.put(chat(), answer("a9", "p1"))
    until(lambda: news and not saving.unsaved)
    assert saving.close() == 0
    aside = list(tmp_path.glob("history-damaged-*.db"))
    (one,) = news
    assert one.kind == "new file" and len(aside) == (what == "broken")
    assert (str(aside[0]) if aside else f"{path} was moved or removed") in one.text
    assert {m.id for m in read(path)} == {"p1", "a1", "a2", "p2", "a3", "a9"}


def test_the_file_lies_where_the_person_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "own"))
    assert history_file() == tmp_path / "own" / "history.db"
    monkeypatch.delenv("MLX_SPEC_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert history_file() == tmp_path / "xdg" / "mlx-spec" / "history.db"


ROUNDS = 4
"""Each with its own history, which two programs open at the same moment; every second one is damaged."""

ONE_OF_TWO = """
import sys, time
from dataclasses import replace
from pathlib import Path
from app.history.saving import HistoryThread
from tests.app.history.some_chat import chat, prompt

folder, side, rounds = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(rounds):
    path = folder / str(number) / "history.db"
    (path.parent / side).touch()
    while not all((path.parent / one).exists() for one in "ab"):
        pass
    news = []
    saving = HistoryThread(path, news.append)
    own = replace(chat(f"c{side}"), changed=float(number))
    for message in range(5):
        saving.put(own, prompt(f"{side}{message}", "hello", chat_id=own.id))
        saving.ask(lambda history: history.chats()).result(60)
    assert saving.close() == 0
    assert all(one.kind == "new file" for one in news), news
"""


def test_two_programs_that_start_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    for number in range(ROUNDS):
        (tmp_path / str(number)).mkdir()
        if number % 2:
            (tmp_path / str(number) / "history.db").write_bytes(b"no database" * 2000)
    command = [sys.executable, "-c", ONE_OF_TWO, str(tmp_path)]
    both = [subprocess.Popen([*command, side, str(ROUNDS)], env=ENVIRONMENT) for side in "ab"]
    assert [process.wait(120) for process in both] == [0, 0]
    for number in range(ROUNDS):
        history = History(tmp_path / str(number) / "history.db")
        assert sorted((row.chat.id, row.messages) for row in history.chats()) == [("ca", 5), ("cb", 5)]
        history.close()
        assert len(list((tmp_path / str(number)).glob("history-damaged-*.db"))) == number % 2


def test_a_good_file_in_the_place_of_a_damaged_one_is_left_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    first = History(path)
    first.close()
    path.rename(tmp_path / "aside.db")  # as the other program does
    History(path).close()
    assert set_aside(path, first.file) is None and path.exists()


def test_what_is_put_behind_those_that_were_saved_is_not_counted_as_unsaved(tmp_path: Path) -> None:
    """Leaving while an answer grows would say that a message could not be saved."""
    saving, ends = HistoryThread(tmp_path / "chats.db", nothing), threading.Event()

    def answers() -> None:
        while not ends.wait(0.0001):
            saving.put(chat(), prompt("p", "hello"))

    growing = threading.Thread(target=answers)
    growing.start()
    counts = [saving.flush() for _ in range(60)]
    ends.set()
    growing.join()
    saving.close()
    assert counts == [0] * len(counts)
