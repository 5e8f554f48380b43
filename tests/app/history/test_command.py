"""`mlx-spec history`, and chats as files: exit codes, JSON, a round trip."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from app.cli import main
from app.commands.chat import _saved_chat
from app.engine.events import DraftRound
from app.history.database import history_file
from app.history.export import as_json, as_markdown
from app.history.store import History
from app.shell.errors import BadInput
from tests.app.history.some_chat import answer, branching, chat, prompt


@pytest.fixture(autouse=True)
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "home"))
    history = History(history_file())
    history.save([chat("aa11", "First \x1b[31m", leaf="a2")], branching_in("aa11"))
    history.save([chat("bb22", "Second", 20.0)], [prompt("q", "hi", chat_id="bb22")])
    history.close()


def branching_in(chat_id: str):
    from dataclasses import replace

    return [replace(message, chat=chat_id) for message in branching()]


def test_list_and_search_say_what_there_is(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "list"]) == 0
    out = capfd.readouterr().out
    lines = out.splitlines()
    assert [line.split()[0] for line in lines if line.strip()][-2:] == ["bb22", "aa11"]
    assert "␛[31m" in out
    assert main(["history", "search", "target", "--json"]) == 0
    (found,) = json.loads(capfd.readouterr().out)["chats"]
    assert (found["id"], found["messages"]) == ("aa11", 5) and "target" in found["excerpt"]
    assert main(["history", "search", "nowhere"]) == 1


def test_an_export_is_imported_again_with_everything_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "chats.json"
    assert main(["history", "export", "all", "--format", "json", "--output", str(file)]) == 0
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "other"))
    capfd.readouterr()
    for added, known in ((2, 0), (0, 2)):
        assert main(["history", "import", str(file), "--json"]) == 0
        assert json.loads(capfd.readouterr().out) == {"added": added, "known": known}
    history = History(history_file())
    chats = [(row.chat, history.messages(row.chat)) for row in history.chats()]
    assert json.loads(json.dumps(as_json(chats))) == json.loads(file.read_text())
    assert chats[1] == (chat("aa11", "First \x1b[31m", leaf="a2"), branching_in("aa11"))
    history.close()


def test_a_deleted_chat_is_imported_again_from_its_export(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "chats.json"
    assert main(["history", "export", "all", "--json", "--output", str(file)]) == 0
    assert main(["history", "delete", "aa11"]) == 0
    capfd.readouterr()
    assert main(["history", "import", str(file), "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == {"added": 1, "known": 1}
    history = History(history_file())
    assert {row.chat.id: row.messages for row in history.chats()} == {"aa11": 5, "bb22": 1}
    assert history.chats(deleted=True) == []
    history.close()


def test_a_list_is_no_export(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "list.json"
    file.write_text("[]")
    assert main(["history", "import", str(file)]) == 2
    assert "no export of chats; its format would be" in capfd.readouterr().err


def test_markdown_shows_the_branch_in_view() -> None:
    text = as_markdown(chat("aa11", "First", leaf="a2", system="Be kind."), branching_in("aa11"))
    assert "# First" in text and "Be kind." in text and "another answer" in text
    assert "The target decides" not in text and "3 messages of other branches" in text
    assert "File notes.md:\n````\na `code` and\n```\nfence\n```\n````" in text
    assert "*seed 7 · temperature 0.5 · 4 tokens · 8 tok/s · accepted 2/3*" in text


@pytest.mark.parametrize(
    "content",
    [
        "no json", "[]", "{}", '{"format": "mlx-spec chats", "version": 99, "chats": []}',
        '{"format": "mlx-spec chats", "version": 1, "chats": [{"id": "x"}]}',
        '{"format": "mlx-spec chats", "version": 1, "chats": [{"id": 5, "title": "t"}]}',
    ],
)  # fmt: skip
def test_a_file_that_is_no_export_adds_nothing(
    tmp_path: Path, content: str, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.json"
    file.write_text(content)
    assert main(["history", "import", str(file)]) == 2
    assert str(file) in capfd.readouterr().err
    assert main(["history", "list", "--json"]) == 0
    assert len(json.loads(capfd.readouterr().out)["chats"]) == 2


def exported(tmp_path: Path, **changed: object) -> tuple[Path, dict]:
    """A file with one chat of two messages, `m` after `p`, as JSON that can be spoilt."""
    messages = [prompt("p", "hi", chat_id="cc33"), prompt("m", "ho", "p", chat_id="cc33")]
    value = json.loads(json.dumps(as_json([(chat("cc33", "Third", leaf="m"), messages)])))
    value["chats"][0] |= changed
    return tmp_path / "x.json", value


@pytest.mark.parametrize("parents", [("m", "p"), ("p", None), ("m", None)])
def test_messages_that_go_in_a_ring_or_stand_before_their_parent_are_not_imported(
    tmp_path: Path, parents: tuple[str | None, str | None], capfd: pytest.CaptureFixture[str]
) -> None:
    file, value = exported(tmp_path)
    for message, parent in zip(value["chats"][0]["messages"], parents, strict=True):
        message["parent"] = parent
    file.write_text(json.dumps(value))
    assert main(["history", "import", str(file)]) == 2
    assert "comes before" in capfd.readouterr().err
    assert main(["history", "show", "cc33"]) == 2


@pytest.mark.parametrize("field", ["changed", "created"])
@pytest.mark.parametrize(
    "seconds", [float("inf"), float("nan"), 1e300, -1e18, pytest.param(10**400, id="huge")]
)
def test_a_time_that_no_calendar_has_is_not_imported(
    tmp_path: Path, field: str, seconds: float, capfd: pytest.CaptureFixture[str]
) -> None:
    file, value = exported(tmp_path, **{field: seconds})
    file.write_text(json.dumps(value))
    assert main(["history", "import", str(file)]) == 2
    told = capfd.readouterr().err
    assert (f"{field} is -1e+18, which is no time" if seconds == -1e18 else "it holds the number") in told


def test_bytes_that_are_no_text_name_no_chat(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "show", "\udcff"]) == 2
    assert "No chat's id begins with" in capfd.readouterr().err
    assert main(["history", "search", "\udcff\udcfe\udcfd"]) == 1


def test_brackets_nested_too_deep_are_no_export(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.json"
    file.write_text("[" * 100_000)
    assert main(["history", "import", str(file)]) == 2
    assert "cannot be read as JSON: maximum recursion depth" in capfd.readouterr().err


@pytest.mark.parametrize("seconds", [float("inf"), 1e300, -1e18])
def test_a_history_with_impossible_times_is_listed_and_is_json(
    seconds: float, capfd: pytest.CaptureFixture[str]
) -> None:
    history = History(history_file())
    history.save([chat("cc33", "Third", seconds)], [])
    history.connection.execute("UPDATE messages SET created = ?", (seconds,))
    history.close()
    assert main(["history", "list"]) == 0
    assert "1970-01-01" in capfd.readouterr().out
    assert main(["history", "export", "all", "--json"]) == 0
    json.loads(capfd.readouterr().out, parse_constant=pytest.fail)


def test_delete_can_be_undone(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["history", "delete", "aa"]) == 0
    assert "restore aa11" in capfd.readouterr().out
    assert main(["history", "show", "last"]) == 0
    assert "# Second" in capfd.readouterr().out
    assert main(["history", "restore", "aa"]) == 0
    assert main(["history", "show", "nope"]) == 2


def test_a_damaged_history_is_told_on_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    history_file().write_bytes(b"junk" * 2000)
    assert main(["history", "list", "--json"]) == 0
    shown = capfd.readouterr()
    assert json.loads(shown.out) == {"chats": []}
    assert "history-damaged-" in shown.err


def test_a_damaged_history_is_told_where_a_chat_of_it_was_to_be_resumed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    history_file().write_bytes(b"junk" * 2000)
    with pytest.raises(BadInput, match="There is no chat yet"):
        _saved_chat("last")
    assert "history-damaged-" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        ("stats", "tokens", "x"),
        ("stats", "tokens_per_second", None),
        ("stats", "acceptance_by_position", [1, "x"]),
        ("stats", "rounds_by_drafter", {"model": []}),
        ("rounds", "drafter", ["model"]),
        ("rounds", "drafted", [1]),
        ("rounds", "accepted", 1.5),
        ("rounds", "own", None),
        ("rounds", "draft_seconds", "x"),
    ],
)
def test_figures_that_are_none_are_not_imported_and_named(
    tmp_path: Path, where: str, name: str, value: object, capfd: pytest.CaptureFixture[str]
) -> None:
    messages = [prompt("p", "hi", chat_id="cc33"), answer("m", "p", chat_id="cc33")]
    export = json.loads(json.dumps(as_json([(chat("cc33", "Third", leaf="m"), messages)])))
    facts = export["chats"][0]["messages"][1]
    if where == "stats":
        facts["stats"][name] = value
    else:
        facts["rounds"][0][[field.name for field in fields(DraftRound)].index(name)] = value
    file = tmp_path / "x.json"
    file.write_text(json.dumps(export))
    assert main(["history", "import", str(file)]) == 2
    told = " ".join(capfd.readouterr().err.split())
    assert f"in 'm', {where}.{'0.' if where == 'rounds' else ''}{name}" in told
    assert main(["history", "show", "cc33"]) == 2


@pytest.mark.parametrize("place", ["text", "drafted"])
def test_half_a_character_is_not_imported_and_named(
    tmp_path: Path, place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """JSON can spell one; no text in UTF-8 can hold it."""
    messages = [prompt("p", "hi", chat_id="cc33"), answer("m", "p", chat_id="cc33")]
    export = json.loads(json.dumps(as_json([(chat("cc33", "Third", leaf="m"), messages)])))
    if place == "text":
        export["chats"][0]["messages"][0]["text"] = "hi \ud800"
    else:
        names = [field.name for field in fields(DraftRound)]
        export["chats"][0]["messages"][1]["rounds"][0][names.index("drafted")] = ["\ud800"]
    file = tmp_path / "x.json"
    file.write_text(json.dumps(export))
    assert main(["history", "import", str(file)]) == 2
    assert "\\ud800" in " ".join(capfd.readouterr().err.split())
    assert main(["history", "show", "cc33"]) == 2


def test_an_import_says_which_part_is_missing_or_no_time(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file, value = exported(tmp_path, created=None)
    file.write_text(json.dumps(value))
    assert main(["history", "import", str(file)]) == 2
    assert "in 'cc33', created is None: input should be a valid number" in capfd.readouterr().err
    del value["chats"][0]["created"]
    file.write_text(json.dumps(value))
    assert main(["history", "import", str(file)]) == 2
    assert "created is missing" in capfd.readouterr().err
