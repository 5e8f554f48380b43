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
from app.history.export import FORMAT, as_json, as_markdown, fenced, not_sent
from app.history.records import Attachment
from app.history.store import History
from app.history.unsent import Unsent
from app.settings.options import AnswerOptions
from tests.app.history.some_chat import TEXT, answer, branching, chat, prompt
from tests.app.read_only import read_only
from tests.app.run_command import Cli


@pytest.fixture(autouse=True)
def saved() -> None:
    history = History(history_file())
    history.save([chat("aa11", "First \x1b[31m", leaf="a2")], branching_in("aa11"))
    history.save([chat("bb22", "Second", 20.0)], [prompt("q", "hi", chat_id="bb22")])
    history.close()


def branching_in(chat_id: str):
    return [replace(message, chat=chat_id) for message in branching()]


def test_list_and_search_show_the_chats(run: Cli) -> None:
    out = run("history list").out
    lines = out.splitlines()
    assert [line.split()[0] for line in lines if line.strip()][-2:] == ["bb22", "aa11"]
    assert "␛[31m" in out
    (found,) = run.json("history search target")["chats"]
    assert (found["id"], found["messages"]) == ("aa11", 5) and "target" in found["excerpt"]
    run("history search nowhere", code=1)


def test_an_export_is_imported_again_with_everything_once_and_a_deleted_chat_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    file = tmp_path / "chats.json"
    assert run("history export all --json --output", file).err == f"2 chats written to {file}.\n"
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "other"))
    for added, known in ((2, 0), (0, 2)):
        assert run.json("history import", file) == {"added": added, "known": known}
    history = History(history_file())
    chats = [(row.chat, history.messages(row.chat)) for row in history.chats()]
    assert json.loads(json.dumps(as_json(chats))) == json.loads(file.read_text())
    assert chats[1] == (chat("aa11", "First \x1b[31m", leaf="a2"), branching_in("aa11"))
    history.delete("aa11")
    history.close()
    assert run.json("history import", file) == {"added": 1, "known": 1}
    run("history show aa11")


def test_markdown_shows_the_branch_in_view() -> None:
    text = as_markdown(chat("aa11", "First", leaf="a2", system="Be kind."), branching_in("aa11"))
    most = as_markdown(chat(leaf="a2"), branching_in("c1")[:3])
    assert "*Without 1 message of other branches; JSON has all.*" in most
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


def test_the_numbers_in_markdown_say_why_an_answer_was_cut_and_what_they_leave_out() -> None:
    facts = (cut := answer("a", "p")).facts
    assert facts is not None and facts.stats is not None
    late, exact = replace(facts.rounds[0], begin=4), replace(facts.options, max_tokens=facts.stats.tokens)
    for changed, ends in (
        ({}, " · cut: the context is full*"),
        ({"options": exact}, " · cut at the length limit*"),
        ({"finish": "stop", "rounds": (late,)}, " · of the continuation only*"),
    ):
        message = replace(cut, facts=replace(facts, **{"finish": "length", **changed}))
        assert as_markdown(chat("c1", leaf="a"), [prompt("p", "hi"), message]).endswith(f"{ends}\n")


@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_code_that_was_cut_off_ends_before_what_follows_it_in_markdown(fence: str) -> None:
    cut, whole, listed = f"{fence}py\nx = 1", f"{fence}\ny\n{fence}", f"- one\n\n  {fence}\n  z"
    answers = [answer("a", "p", cut), answer("b", "a", whole), answer("c", "b", listed)]
    messages = [prompt("p", cut, files=True), *answers]
    text = as_markdown(chat("c1", leaf="c", system=cut), messages)
    assert text.count(f"{cut}\n{fence}\n\n") == 3
    assert f"{whole}\n\n*seed" in text and f"{listed}\n\n*seed" in text
    assert not_sent([Unsent(cut)]) == f"# Not sent\n\n{cut}\n{fence}\n"


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
        ({"format": FORMAT, "version": 1, "chats": 5}, "chats is not a list of objects"),
        (exported(id=""), "a chat without an id"),
        (exported(title=5), "in 'cc33', title is 5: input should be a valid string"),
        (exported(created=None), "in 'cc33', created is None: input should be a valid number"),
        (exported(created=-1e18), "created is -1e+18, which is not a time"),
        (exported(changed=float("inf")), "it holds the number Infinity"),
        (exported(changed=10**400), "it holds the number 1000"),
        (exported(title="hi \ud800"), "holds \\ud800, half of a character"),
        (with_parents("m", "p"), "the message p follows itself"),
        (with_parents(None, "m"), "the message m follows itself"),
    ],
)
def test_a_file_that_is_no_export_adds_nothing_and_the_reason_is_named(
    tmp_path: Path, content: object, why: str, run: Cli
) -> None:
    file = tmp_path / "x.json"
    text = content if isinstance(content, str | bytes) else json.dumps(content)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    error = " ".join(run("history import", file, code=2).err.split())
    assert str(file) in error and why in error
    assert len(run.json("history list")["chats"]) == 2


def test_a_device_that_never_ends_is_not_read_for_ever(monkeypatch: pytest.MonkeyPatch, run: Cli) -> None:
    monkeypatch.setattr("app.history.export.LARGEST_EXPORT", 2**20)
    assert "/dev/zero is larger than 1 MB" in run("history import /dev/zero", code=2).err


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
    assert getattr(read.facts, next(iter(spoilt))) in (None, (), AnswerOptions(), "")
    assert main(["history", "show", "cc33"]) == 0


def test_bytes_that_are_no_text_name_no_chat(run: Cli) -> None:
    assert "No chat's id begins with" in run("history show", "\udcff", code=2).err
    run("history search", "\udcff\udcfe\udcfd", code=1)


@pytest.mark.parametrize("seconds", [float("inf"), -1e18])
def test_a_history_with_impossible_times_is_listed_and_is_json(seconds: float, run: Cli) -> None:
    history = History(history_file())
    history.save([chat("cc33", "Third", seconds)], [])
    with history.connection:
        history.connection.execute("UPDATE messages SET created = ?", (seconds,))
    history.close()
    assert "1970-01-01" in run("history list").out
    json.loads(run("history export all --json").out, parse_constant=pytest.fail)


def test_a_read_only_folder_without_a_history_has_no_chats(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "other"))
    with read_only(tmp_path):
        assert run("history list").err == "No chats.\n"
        run("history search hello", code=1)
        assert "The list of chats is empty." in run("history show last", code=2).err
        assert "Read-only file system" in run("history restore aa11", code=3).err


def test_a_read_only_history_with_other_tables_is_refused(run: Cli) -> None:
    for version, why in ((1, "Read-only file system"), (99, "was written by a newer mlx-spec")):
        with closing(sqlite3.connect(history_file(), isolation_level=None)) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        with read_only(history_file().parent):
            assert why in run("history list", code=3).err


def test_delete_can_be_undone(run: Cli) -> None:
    assert "restore aa11" in run("history delete aa").out
    assert "# Second" in run("history show last").out
    assert "aa11" not in run("history list").out
    err = run("history restore nope", code=2).err
    assert "(also with --archived or --deleted)" in err, "where its id can be found"
    assert run("history restore aa").out == "'First ␛[31m' is back.\n"
    assert "aa11" in run("history list").out


def test_a_history_that_another_program_has_locked_is_named(
    monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr("app.history.database.BUSY_SECONDS", 0)
    with closing(sqlite3.connect(history_file(), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        refused = run("history delete aa11", code=3).err
    assert f"{history_file()} cannot be used: database is locked." in refused


def test_a_damaged_history_is_reported_on_stderr(run: Cli) -> None:
    history_file().write_bytes(b"junk" * 2000)
    shown = run("history list --json")
    assert json.loads(shown.out) == {"chats": []}
    assert "history-damaged-" in shown.err
