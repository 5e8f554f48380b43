"""The command line: wrong use in words, help, and what opens without a command."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import main
from app.commands import arguments as args
from app.engine import drafting_state

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "no-such-pair", "--prompt", "x"],
        ["generate", "what is this", "--prompt", "x"],
        ["generate", "--promt", "x"],
        ["generate", "--prompt", "x", "--temperature", "warm"],
        ["generate", "--prompt", "x", "--temperature", "nan"],
        ["generate", "--prompt", "x", "--top-p", "2"],
        ["generate", "--prompt", "x", "--draft-length", "99"],
        ["generate", "--prompt", "x", "--draft-length", "some"],
        ["generate", "--prompt", "x", "--max-tokens", "0"],
        ["generate", "--prompt", "x", "--seed", "-1"],
        ["generate", "--prompt", "x", "--verify", "trust"],
        ["generate", "--prompt", "x", "--no-draft", "--drafter", "lookup"],
        ["generate", "--prompt", "x", "--no-draft", "--draft-length", "2"],
        ["generate", "--prompt", "x", "--prompt-file", "y"],
        ["generate", "--prompt", "  "],
        ["generate", "--prompt", "hi \udcff"],
        ["generate", "--prompt-file", "/no/such/file"],
        ["generate", "--prompt-file", "/"],
        ["history", "import", "/no/such/file"],
        ["history", "import", "/"],
        ["history", "export", "all", "--output", "/no/such/folder/x"],
        ["history", "export", "all", "--output", "/"],
        ["generate", "builtin", "--target", "x/y", "--draft", "none", "--prompt", "x"],
        ["generate", "--target", "/no/such/folder", "--draft", "none", "--prompt", "x"],
        ["generate", "--target", "org/never-pulled-by-anybody", "--draft", "none", "--prompt", "x"],
        ["bench", "--repeats", "0"],
        ["bench", "--max-tokens", "2"],
        ["bench", "--prompts", "/no/such/file"],
        ["bench", "--plot", "picture.gif"],
        ["bench", "--plot", "/no/such/folder/picture.png"],
        ["bench", "--csv", "/no/such/folder/rows.csv"],
        ["check", "--max-tokens", "0"],
        ["chat", "no-such-pair"],
        ["pairs", "show", "no-such-pair"],
        ["pull"],
        ["pull", "no-such-pair"],
        ["remove", "no-such-pair"],
        ["remove", "builtin", "--yes"],
        ["frobnicate"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_told_in_two_lines_with_exit_code_2(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capfd.readouterr()
    assert told.out == ""
    assert 1 <= len(told.err.splitlines()) <= 2
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["generate", "--prompt", "x", "--stop", ""], "--stop is empty"),
        (
            ["generate", "--prompt", "x", "builtin", "--draft", "none", "--draft-head", "5"],
            "builtin has none",
        ),
        (
            ["generate", "--prompt", "x", "--drafter", "lookup", "--draft-head", "5"],
            "--drafter lookup and --draft-head 5 contradict",
        ),
        (
            ["generate", "--prompt", "x", "--no-draft", "--draft-head", "5"],
            "--no-draft and --draft-head 5 contradict",
        ),
        (
            ["generate", "--prompt", "x", "--draft-length", ""],
            "--draft-length is empty; it must be a",
        ),
        (["check", ""], "There is no pair ''."),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_cannot_be_meant_is_refused_before_anything_is_loaded(
    arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def load(spec: object) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(args, "loaded_pair", load)
    assert main(arguments) == 2
    assert told in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["generate", "--max-tokens", "1e3"],
            "--max-tokens is 1e3; it must be a whole number.\n",
        ),
        (["generate", "--top-p", ""], "--top-p is empty; it must be a number.\n"),
        (["bench", "--repeats", "0"], "Invalid value for '--repeats'"),
        (["generate", "--drafter", "x"], "--drafter is x; it must be auto, model or lookup.\n"),
        (["pairs", "--chip", ""], "There is no chip '' in our table."),
        (["comparisons", "show", "last"], "No comparison was kept yet. In the chat, /compare runs one.\n"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_what_it_must_be(
    arguments: list[str], told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capfd.readouterr().err.startswith(told)


@pytest.mark.parametrize(
    ("arguments", "end"),
    [
        (["generate", "def f():\n    return\n" * 5000], "is no pair's name. For a prompt: --prompt TEXT."),
        (
            ["generate", "--prompt", "x", "--seed", "9" * 5000],
            "it must be a whole number.",
        ),
        (["generate", "--prompt-file", "x" * 5000], "cannot be read: File name too long."),
    ],
    ids=["a text", "digits", "a path"],
)
def test_a_whole_text_in_the_place_of_a_name_is_not_said_again_in_full(
    arguments: list[str], end: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capfd.readouterr().err
    assert arguments[-1][:20] in told and told.strip().endswith(end)
    assert len(told) < 1200


def test_a_group_without_a_command_is_its_help_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["history"]) == 2
    without = capfd.readouterr().err
    assert main(["history", "--help"]) == 0
    assert without.strip() == capfd.readouterr().out.strip()


def test_control_characters_in_an_argument_are_shown_not_sent(capfd: pytest.CaptureFixture[str]) -> None:
    main(["generate", "\x1b[31mred", "--prompt", "x"])
    assert "\x1b" not in capfd.readouterr().err


def test_debug_shows_the_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "show", "no-such-pair", "--debug"]) == 2
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "chat",
        "generate",
        "bench",
        "check",
        "pairs",
        "pairs show",
        "pull",
        "remove",
        "doctor",
        "report",
        "history",
        "history search",
    ],
)
def test_every_command_has_help_with_an_example(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    told = capfd.readouterr().out
    assert "Examples:" in told
    assert f"mlx-spec {command.split()[0]}" in told.partition("Examples:")[2]


@pytest.mark.parametrize("group", [[], ["pairs"], ["history"], ["comparisons"], ["config"]])
def test_no_command_is_summed_up_in_half_a_sentence(
    group: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*group, "--help"]) == 0
    commands = capfd.readouterr().out.partition("Commands:")[2].partition("\n\n")[0].splitlines()[1:]
    assert commands and not [line for line in commands if line.endswith("...")]


def test_help_and_pairs_load_no_model_library() -> None:
    script = (
        "import sys; from app.cli import main\n"
        "for arguments in (['--help'], ['generate', '--help'], ['pairs']): main(arguments)\n"
        "heavy = {'mlx', 'mlx_lm', 'transformers', 'textual', 'numpy'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_without_a_command_the_chat_opens_on_the_built_in_pair(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(drafting_state, "SECONDS", 0.1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Hello!\n\nHow are you?\n")))
    assert main([]) == 0
    told = capfd.readouterr()
    assert all(len(answer) > 5 for answer in told.out.split("\n\n")[:2])
    assert told.err.count("Measuring what drafting costs here, once") == 1


def test_whether_a_pair_fits_is_said_of_this_machine_also_beside_another_chips_speeds(
    capfd: pytest.CaptureFixture[str],
) -> None:
    assert main(["pairs", "show", "qwen3-8b", "--chip", "M4 Pro"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines if line.startswith("fits")] == ["fits here"]


def test_pairs_as_json_names_every_pair(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "--json"]) == 0
    pairs = json.loads(capfd.readouterr().out)["pairs"]
    assert pairs[0]["name"] == "builtin"
    assert all({"licence", "installed", "verified", "download_bytes"} <= set(pair) for pair in pairs)
