"""`mlx-spec history`, and chats as files: exit codes, JSON, a round trip."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.cli import main
from app.history.database import history_file
from app.history.export import FORMAT, as_json, as_markdown, fenced
from app.history.records import Attachment
from app.history.store import History
from mlx_spec.types import Options
from tests.app.history.some_chat import TEXT, answer, branching, chat, prompt
from tests.app.read_only import read_only


@pytest.fixture(autouse=True)
def saved() -> None:
    history = History(history_file())
    history.save([chat("aa11", "First \x1b[31m", leaf="a2")], branching_in("aa11"))
    history.save([chat("bb22", "Second", 20.0)], [prompt("q", "hi", chat_id="bb22")])
    history.close()


def branching_in(chat_id: str):
    return [replace(message, chat=chat_id) for message in branching()]


def test_list_and_search_show_the_chats(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "list"]) == 0
    out = capfd.readouterr().out
    lines = out.splitlines()
    assert [line.split()[0] for line in lines if line.strip()][-2:] == ["bb22", "aa11"]
    assert "␛[31m" in out
    assert main(["history", "search", "target", "--json"]) == 0
    (found,) = json.loads(capfd.readouterr().out)["chats"]
    assert (found["id"], found["messages"]) == ("aa11", 5) and "target" in found["excerpt"]
    assert main(["history", "search", "nowhere"]) == 1


def test_an_export_is_imported_again_with_everything_once_and_a_deleted_chat_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "chats.json"
    assert main(["history", "export", "all", "--json", "--output", str(file)]) == 0
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "other"))
    capfd.readouterr()
    for added, known in ((2, 0), (0, 2)):
        assert main(["history", "import", str(file), "--json"]) == 0
        assert json.loads(capfd.readouterr().out) == {"added": added, "known": known}
    history = History(history_file())
    chats = [(row.chat, history.messages(row.chat)) for row in history.chats()]
    assert json.loads(json.dumps(as_json(chats))) == json.loads(file.read_text())
    assert chats[1] == (chat("aa11", "First \x1b[31m", leaf="a2"), branching_in("aa11"))
    history.delete("aa11")
    history.close()
    assert main(["history", "import", str(file), "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {"added": 1, "known": 1}
    assert main(["history", "show", "aa11"]) == 0


def test_markdown_shows_the_branch_in_view() -> None:
    text = as_markdown(chat("aa11", "First", leaf="a2", system="Be kind."), branching_in("aa11"))
    assert "# First" in text and "Be kind." in text and "another answer" in text
    assert "The target decides" not in text and "3 messages of other branches" in text
    assert "File notes.md:\n````\na `code` and\n```\nfence\n```\n````" in text
    assert "*seed 7 · temperature 0.5 · 4 tokens, 8.0/s · accepted 2/3, " in text
    assert fenced(Attachment("a.txt", "no fence")) == "File a.txt:\n```\nno fence\n```"


def test_markdown_quotes_a_thought_before_its_answer() -> None:
    said = "<think>\nHm.\n\n> no\n</think>\n\nYes."
    messages = [prompt("p", "<think>why</think>"), answer("a", "p", said), answer("b", "a", "<think>\nStill")]
    text = as_markdown(chat("c1", leaf="b"), messages)
    assert (
        "## You\n\n<think>why</think>\n\n## pair\n\n> *Thought:*\n>\n> Hm.\n>\n> > no\n\nYes.\n\n*seed 7"
        in text
    )
    assert "> *Thought:*\n>\n> Still\n\n*seed 7" in text


def exported(**changed: object) -> dict[str, Any]:
    """A chat of a prompt and an answer as JSON, to be changed by a test."""
    messages = [prompt("p", "hi", chat_id="cc33"), answer("m", "p", chat_id="cc33")]
    value = json.loads(json.dumps(as_json([(chat("cc33", "Third", leaf="m"), messages)])))
    value["chats"][0] |= changed
    return value


def with_parents(*parents: str | None) -> dict[str, Any]:
    value = exported()
    for message, parent in zip(value["chats"][0]["messages"], parents, strict=True):
        message["parent"] = parent
    return value


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("no json", "cannot be read as JSON: Expecting value"),
        ("[" * 100_000, "cannot be read as JSON: brackets are nested too deep"),
        (b"\xff", "is not UTF-8 text (byte 0)"),
        ("[]", "not an export of chats, whose format is"),
        ({"format": FORMAT, "version": 99, "chats": []}, "version 99 of the format"),
        ({"format": FORMAT, "version": 1, "chats": 5}, "chats is no list of objects"),
        (exported(id=""), "a chat without an id"),
        (exported(title=5), "in 'cc33', title is 5: input should be a valid string"),
        (exported(created=None), "in 'cc33', created is None: input should be a valid number"),
        (exported(created=-1e18), "created is -1e+18, which is no time"),
        (exported(changed=float("inf")), "it holds the number Infinity"),
        (exported(changed=10**400), "it holds the number 1000"),
        (exported(title="hi \ud800"), "holds \\ud800, half of a character"),
        (with_parents("m", "p"), "the message p follows itself"),
        (with_parents(None, "m"), "the message m follows itself"),
    ],
)
def test_a_file_that_is_no_export_adds_nothing_and_the_reason_is_named(
    tmp_path: Path, content: object, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.json"
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert main(["history", "import", str(file)]) == 2
    error = " ".join(capfd.readouterr().err.split())
    assert str(file) in error and why in error
    assert main(["history", "list", "--json"]) == 0
    assert len(json.loads(capfd.readouterr().out)["chats"]) == 2


def test_a_device_that_never_ends_is_not_read_for_ever(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("app.history.export.LARGEST_EXPORT", 2**20)
    assert main(["history", "import", "/dev/zero"]) == 2
    assert "/dev/zero is larger than 1 MB" in capfd.readouterr().err


@pytest.mark.parametrize(
    "spoilt",
    [{"stats": {"tokens": "x"}}, {"rounds": [["model"]]}, {"rounds": 5}, {"options": []}, {"marks": None}],
)
def test_figures_that_are_none_are_left_out_of_an_import(tmp_path: Path, spoilt: dict[str, Any]) -> None:
    file, value = tmp_path / "x.json", exported()
    value["chats"][0]["messages"][1] |= spoilt
    file.write_text(json.dumps(value))
    assert main(["history", "import", str(file)]) == 0
    history = History(history_file())
    _, read = history.messages(history.find("cc33"))
    history.close()
    assert read.text == TEXT and read.facts is not None
    assert getattr(read.facts, next(iter(spoilt))) in (None, (), Options(), "")
    assert main(["history", "show", "cc33"]) == 0


def test_bytes_that_are_no_text_name_no_chat(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "show", "\udcff"]) == 2
    assert "No chat's id begins with" in capfd.readouterr().err
    assert main(["history", "search", "\udcff\udcfe\udcfd"]) == 1


@pytest.mark.parametrize("seconds", [float("inf"), -1e18])
def test_a_history_with_impossible_times_is_listed_and_is_json(
    seconds: float, capfd: pytest.CaptureFixture[str]
) -> None:
    history = History(history_file())
    history.save([chat("cc33", "Third", seconds)], [])
    with history.connection:
        history.connection.execute("UPDATE messages SET created = ?", (seconds,))
    history.close()
    assert main(["history", "list"]) == 0
    assert "1970-01-01" in capfd.readouterr().out
    assert main(["history", "export", "all", "--json"]) == 0
    json.loads(capfd.readouterr().out, parse_constant=pytest.fail)


def test_a_read_only_folder_without_a_history_has_no_chats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "other"))
    with read_only(tmp_path):
        assert main(["history", "list"]) == 0 and capfd.readouterr().err == "No chats.\n"
        assert main(["history", "search", "hello"]) == 1
        assert main(["history", "show", "last"]) == 2
        assert "The list of chats is empty." in capfd.readouterr().err
        assert main(["history", "restore", "aa11"]) == 3
        assert "Read-only file system" in capfd.readouterr().err


def test_a_read_only_history_with_other_tables_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    for version, why in ((1, "Read-only file system"), (99, "was written by a newer mlx-spec")):
        with closing(sqlite3.connect(history_file(), isolation_level=None)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        with read_only(history_file().parent):
            assert main(["history", "list"]) == 3 and why in capfd.readouterr().err


def test_delete_can_be_undone(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "delete", "aa"]) == 0
    assert "restore aa11" in capfd.readouterr().out
    assert main(["history", "show", "last"]) == 0
    assert "# Second" in capfd.readouterr().out
    assert main(["history", "restore", "nope"]) == 2
    assert "(also with --archived or --deleted)" in capfd.readouterr().err, "where its id can be found"
    assert main(["history", "restore", "aa"]) == 0


def test_a_damaged_history_is_reported_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    history_file().write_bytes(b"junk" * 2000)
    assert main(["history", "list", "--json"]) == 0
    shown = capfd.readouterr()
    assert json.loads(shown.out) == {"chats": []}
    assert "history-damaged-" in shown.err
