"""The command line: messages for wrong use, help, and the chat without a command."""

import io
import shlex
import sys
from pathlib import Path

import pytest

from app.commands import loading
from models.paths import config_file
from tests.app.run_command import Cli


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("generate no-such-pair --prompt x", "no-such-pair"),
        ("generate 'what is this' --prompt x", "is not the name of a pair. For a prompt: --prompt TEXT."),
        ("generate --promt x", "--promt"),
        ("generate '\x1b[31m red' --prompt x", "␛[31m red"),
        ("generate --prompt x --temperature nan", "--temperature is nan; it must be 0"),
        ("generate --prompt x --draft-length ''", "--draft-length is empty; it must be a whole number"),
        ("generate --prompt x --drafter x", "--drafter is x; it must be auto, model, medusa, dspark, "),
        ("generate --prompt x --drafter lookup --drafter egle", "--drafter is lookup+egle; it must be"),
        ("generate --prompt x --drafter egle", "lookahead or grounded (eagle?)."),
        ("generate --prompt x --drafter auto+lookup", "must be auto alone (all that the pair has)"),
        ("bench --drafter lookup --drafter none", "--drafter is lookup+none; it must be auto, model,"),
        ("generate --prompt x --drafter ''", "--drafter is empty; it must be auto, model,"),
        ("generate --prompt x --drafter /no/such/head", "There is no drafter folder /no/such/head."),
        ("generate --prompt x --drafter org/head", "a repository with --draft."),
        ("generate --prompt x --drafter ./tests", "tests holds no config.json; it is not a drafter."),
        ("generate --prompt x --max-tokens 1e3", "--max-tokens is 1e3; it must be a whole number."),
        (f"generate --prompt x --seed {'9' * 5000}", "it must be a whole number."),
        ("generate --prompt x --no-draft --drafter lookup", "--no-draft and --drafter lookup contradict"),
        ("generate --prompt x --no-draft --draft-length 2", "--no-draft and --draft-length 2 contradict"),
        ("generate --prompt x --no-draft --draft-head 5", "--no-draft and --draft-head 5 contradict"),
        ("generate --prompt x --drafter lookup --draft-head 5", "--drafter lookup and --draft-head 5 contra"),
        ("generate --prompt x --drafter lookup+eagle --draft-head 5", "lookup+eagle has no draft model"),
        ("generate --prompt x --draft none --draft-head 5", "builtin has none"),
        ("generate --prompt x --stop ''", "--stop is empty"),
        ("generate --prompt x --prompt-file y", "not both"),
        ("generate --prompt '  '", "--prompt is empty"),
        ("generate --prompt 'hi \udcff'", "is not UTF-8 text (character 3)"),
        ("generate --prompt-file /no/such/file", "There is no file /no/such/file."),
        ("generate --prompt-file -", "There is no file -. For stdin name /dev/stdin."),
        ("generate --prompt-file /", "/ cannot be read: Is a directory."),
        (f"generate --prompt-file {'x' * 5000}", "cannot be read: File name too long."),
        ("generate --prompt x --documents /no/such", "There are no documents /no/such. Name a folder"),
        ("generate --prompt x --documents ''", "There are no documents ''. Name a folder"),
        ("train builtin --texts ' '", "There are no documents ' '. Name a folder"),
        ("history import /no/such/file", "/no/such/file"),
        ("history import /", "/"),
        ("history export all --output /no/such/folder/x", "there is no folder /no/such/folder."),
        ("history export all --output /", "that is a folder"),
        ("history export all --output -", "--output is -, which does not mean stdout here. Name a file."),
        ("generate builtin --target x/y --draft none --prompt x", "--target"),
        ("generate --target /no/such/folder --draft none --prompt x", "/no/such/folder"),
        ("bench --repeats 0", "--repeats is 0; it must be at least 1."),
        ("bench --repeats ''", "--repeats is empty; it must be a whole number."),
        ("serve --port 1e3", "--port is 1e3; it must be a whole number."),
        ("serve --allow-origin http://localhost:3000/", "--allow-origin is http://localhost:3000/, which no"),
        ("serve --host ''", "--host is empty; it must be a name without scheme and port"),
        ("serve --allow-host ''", "--allow-host is empty; it must be a name without scheme and port"),
        ("serve --allow-host mac.local:8080", "--allow-host is mac.local:8080; it must be a name without"),
        ("serve --allow-origin '*'", "--allow-origin is *, which no browser sends"),
        ("serve --allow-origin null", "--allow-origin is null, which any page opened as a file sends"),
        ("serve --at-once 17", "--at-once is 17; it must be at most 16."),
        ("generate --prompt x --drafter-bits x", "--drafter-bits is x; it must be a whole number."),
        ("report --out ''", "--out is empty, no writable folder."),
        ("report --out /no/such", "--out is /no/such, no writable folder."),
        ("report --out /dev/null", "--out is /dev/null, no writable folder."),
        ("train builtin --kind ''", "--kind is empty; it must be one of: eagle,"),
        ("train builtin --hours soon", "--hours is soon; it must be a number."),
        ("train builtin --hours nan", "--hours is nan; it must be at least 0.01."),
        ("bench --max-tokens 2", "Give at least 3."),
        ("bench --draft-length 0", "--draft-length 0 is plain decoding"),
        ("bench --prompts /no/such/file", "There is no file /no/such/file."),
        ("bench --plot picture.gif", "picture.gif"),
        ("check --drafter ./tests", "tests holds no config.json; it is not a drafter."),
        ("check ''", "There is no pair ''."),
        ("pairs --chip ''", "There is no chip '' in our table."),
        ("pairs show no-such-pair", "no-such-pair"),
        ("pairs --json show builtin", "Give --chip and --json behind the command"),
        ("pairs --chip M4 show builtin", "Give --chip and --json behind the command"),
        ("config --json path", "prints no JSON"),
        ("comparisons show last", "No comparison was saved yet. In the chat, /compare runs one."),
        ("pull", "Name a pair"),
        ("remove builtin --yes", "Nothing of builtin can be removed"),
        ("frobnicate", "frobnicate"),
    ],
    ids=lambda part: part[:50],
)
def test_wrong_use_is_named_in_two_lines_before_anything_is_loaded_with_exit_code_2(
    line: str, message: str, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    def load(spec: object) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(loading, "loaded_pair", load)
    out, err = run(*shlex.split(line), code=2)
    assert out == "" and message in err and "Traceback" not in err and "\x1b" not in err
    assert 1 <= len(err.splitlines()) <= 2


def test_a_group_without_a_command_is_its_help_alone(run: Cli) -> None:
    without = run("history", code=2).err
    assert without.strip() == run("history --help").out.strip()


def test_a_current_folder_that_was_deleted_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert "The folder you are in was deleted." in run("history export all --output x.md", code=3).err


def test_debug_shows_the_traceback(run: Cli) -> None:
    assert "Traceback" in run("pairs show no-such-pair --debug", code=2).err


COMMANDS = "chat generate bench check tune pairs pull remove doctor report history config comparisons".split()


@pytest.mark.parametrize("command", ["", *COMMANDS, "pairs show", "history search"])
def test_every_command_has_help_with_an_example_and_sums_up_others_in_whole_sentences(
    command: str, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = run(*command.split(), "--help").out
    assert not command or f"mlx-spec {command.split()[0]}" in out.partition("Examples:")[2]
    assert not [line for line in out.partition("Commands:")[2].splitlines() if line.endswith("...")]


@pytest.mark.parametrize(("command", "drawn"), [("generate", True), ("bench", False), ("check", False)])
def test_help_says_that_a_seed_is_drawn_where_it_has_no_default(command: str, drawn: bool, run: Cli) -> None:
    out = " ".join(run(command, "--help").out.split())
    assert ("one is drawn and shown" in out) == drawn


def test_without_a_command_the_chat_opens_on_the_built_in_pair(
    monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("sampling.max-tokens = 8")
    for name, least in (("SECONDS", 0.05), ("NEAR", 8), ("LONG", 1), ("TRIES", 1)):
        monkeypatch.setattr(f"mlx_spec.calibrate.{name}", least)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Hello!\n\nHow are you?\n")))
    printed = run()
    assert all(len(answer) > 5 for answer in printed.out.split("\n\n")[:2])
    assert printed.err.count("Measuring what drafting costs here, once") == 1
