"""Saved answers as documents: up to date with the chats, and untouched if nothing changed."""

from pathlib import Path

import pytest

from app.commands.arguments import PairArguments
from app.history.answers import answers_folder
from app.history.database import history_file
from app.history.store import History
from models.files import atomic_write, locked
from models.paths import data_folder
from tests.app.history.some_chat import answer, branching, chat, prompt


def texts() -> dict[str, tuple[str, int]]:
    folder = answers_folder()
    return {f.name: (f.read_text(), f.stat().st_mtime_ns) for f in folder.iterdir()} if folder else {}


@pytest.fixture
def history():
    data_folder().mkdir(parents=True)
    history = History(history_file())
    history.save([chat()], branching())
    history.save([chat("../c2")], [prompt("p", "a prompt", chat_id="../c2")])
    history.save([], [answer("a", "p", "an answer", chat_id="../c2")])
    yield history
    history.close()


def test_every_chat_is_a_file_of_its_answers(history: History) -> None:
    found = texts()
    assert sorted(text for text, _ in found.values()) == [
        "The target decides 日本 👩‍💻.\n\nanother answer\n\nthe third", "an answer"
    ]  # fmt: skip
    assert texts() == found, "what did not change keeps its time"


def test_a_deleted_chat_is_gone_and_one_that_goes_on_is_written_again(history: History) -> None:
    texts()
    history.delete("c1")
    history.save([], [answer("b", "p", "and more", chat_id="../c2")])
    assert [text for text, _ in texts().values()] == ["an answer\n\nand more"]
    history.delete("../c2")
    assert texts() == {} and list((data_folder() / "answers").iterdir()) == []


def test_of_two_programs_that_start_at_once_one_writes_at_a_time(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each removes the files that it does not know, the other's half written ones too."""

    def write(file: Path, text: str) -> None:
        with pytest.raises(BlockingIOError), locked(data_folder(), wait=False):
            pass
        atomic_write(file, text)

    monkeypatch.setattr("app.history.answers.atomic_write", write)
    assert len(texts()) == 2


def test_chats_are_among_the_documents_also_once_all_are_deleted_as_their_index_has_to_go(
    history: History, tmp_path: Path
) -> None:
    arguments = PairArguments(pair="builtin", documents=["chats", str(tmp_path), "chats"])
    for deleted in ("c1", "../c2"):
        assert arguments.chosen().documents == (str(data_folder() / "answers"), str(tmp_path))
        history.delete(deleted)
    assert arguments.chosen().documents == (str(data_folder() / "answers"), str(tmp_path))


def test_no_history_is_none_begun() -> None:
    assert answers_folder() is None and not history_file().exists()


def test_a_folder_that_cannot_be_written_is_said_and_costs_no_more_than_drafts(
    history: History, capsys: pytest.CaptureFixture[str]
) -> None:
    (data_folder() / "answers").write_text("a file in its place")
    assert answers_folder() is None
    told = capsys.readouterr().err
    assert "The saved answers to draft from cannot be brought up to date" in told
    assert told.endswith("Not a directory.\n")
