"""Two programs on one history: both write, one may set the file aside under the other."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.history.database import set_aside
from app.history.store import History

ROOT = Path(__file__).parents[3]
ROUNDS = 4
"""Each with a history of its own, which both open at the same moment."""

WRITER = """
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


@pytest.mark.parametrize("before", ["no file yet", "a damaged file"])
def test_two_programs_that_start_and_write_at_once_lose_nothing(tmp_path: Path, before: str) -> None:
    for number in range(ROUNDS):
        (tmp_path / str(number)).mkdir()
        if before == "a damaged file":
            (tmp_path / str(number) / "history.db").write_bytes(b"no database" * 2000)
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    both = [subprocess.Popen([*command, side, str(ROUNDS)], env=environment) for side in "ab"]
    assert [process.wait(120) for process in both] == [0, 0]
    for number in range(ROUNDS):
        history = History(tmp_path / str(number) / "history.db")
        assert sorted((row.chat.id, row.messages) for row in history.chats()) == [("ca", 5), ("cb", 5)]
        history.close()
        kept = list((tmp_path / str(number)).glob("history-damaged-*.db"))
        assert len(kept) == (before == "a damaged file")


def test_a_good_file_in_the_place_of_a_damaged_one_is_left_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    first = History(path)
    first.close()
    path.rename(tmp_path / "aside.db")  # as the other program does
    History(path).close()
    assert set_aside(path, first.file) is None and path.exists()
