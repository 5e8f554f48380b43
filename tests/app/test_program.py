"""The program as a process: its exit codes, Ctrl+C, and standard streams that are closed, full or unread."""

import os
import shlex
import signal
import subprocess
import sys
import tomllib
import weakref
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.metadata import EntryPoint
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from app.cli import main
from app.commands import loading
from tests.app.scripted_pair import STOP, ScriptedEngine, ScriptedPair
from tests.app.tiny_pair import TinyPair

ROOT = Path(__file__).parents[2]


def start(*arguments: str, **kwargs: object) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "app", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=ROOT, **(pipes | kwargs))  # type: ignore[call-overload]


def in_a_shell(words: list[str], redirection: str) -> "subprocess.CompletedProcess[bytes]":
    line = f"{shlex.join([sys.executable, '-m', 'app', *words])} {redirection}"
    if redirection.startswith("|"):
        line += "; exit ${PIPESTATUS[0]}"
    return subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, timeout=120)


needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


def test_ctrl_c_keeps_the_text_and_exits_with_130_and_a_closed_stdin_is_no_error(tiny_pair: TinyPair) -> None:
    """Where file 0 is free, the weights would be read from it."""
    words = ["generate", *tiny_pair.arguments, "--prompt", "hello", "--max-tokens", "4000", "--raw"]
    running = start(*words, "--draft-length", "2", stdin=None, preexec_fn=lambda: os.close(0))
    assert running.stdout is not None
    first = os.read(running.stdout.fileno(), 10)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert first
    assert b"Interrupted" in err
    assert b"Traceback" not in err
    assert len((first + out).decode(errors="replace")) < 4000


def press(*_: object) -> None:
    signal.raise_signal(signal.SIGINT)


def press_amid_a_clean_up() -> None:
    """An error there is printed by Python, which goes on: it cleans up after each import."""
    weakref.finalize({*()}, press)


@pytest.mark.parametrize("pressed", [press, press_amid_a_clean_up])
def test_ctrl_c_while_the_program_is_still_being_imported_is_no_traceback(
    pressed: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Pressed(MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name == "app.cli":
                pressed()

    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    begin = EntryPoint("mlx-spec", scripts["mlx-spec"], "console_scripts").load()
    monkeypatch.delitem(sys.modules, "app.cli", raising=False)
    monkeypatch.delattr("app.cli", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Pressed(), *sys.meta_path])
    assert begin() == 130
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def speaks_french(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair that `generate` loads says `é`."""
    pair = ScriptedPair(ScriptedEngine([*"é".encode(), STOP]))
    monkeypatch.setattr(loading, "loaded_pair", lambda spec: pair)


ANSWER = ["generate", "--prompt", "é", "--draft-length", "2"]


@pytest.mark.usefixtures("speaks_french")
def test_a_reader_that_leaves_ends_the_answer(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as unread:
        monkeypatch.setattr(sys, "stdout", unread)
        assert main(ANSWER) == 130
    assert capfd.readouterr().err == ""


@needs_full_device
@pytest.mark.usefixtures("speaks_french")
def test_a_full_stderr_and_a_terminal_without_utf8_cost_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = BytesIO()
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        monkeypatch.setattr(sys, "stdout", TextIOWrapper(shown, "ascii", write_through=True))
        assert main(ANSWER) == 0
    assert shown.getvalue() == b"\\xe9\n"


@pytest.mark.parametrize(
    ("words", "redirection", "code"),
    [
        (["--version"], "<&- >&- 2>&-", 0),
        (["config", "path"], "| true", 130),
        pytest.param(["generate", "--max-tokens", "0"], "2>/dev/full", 2, marks=needs_full_device),
    ],
)
def test_words_that_nobody_reads_are_no_error(words: list[str], redirection: str, code: int) -> None:
    done = in_a_shell(words, redirection)
    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


@needs_full_device
@pytest.mark.parametrize(
    ("words", "unbuffered"), [(["config", "path"], "1"), (["--help"], ""), (["config", "path"], "")]
)
def test_a_full_disk_behind_stdout_is_told_once(
    words: list[str], unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    done = in_a_shell(words, ">/dev/full")
    assert done.returncode == 3
    assert b"No space left" in done.stderr and len(done.stderr.splitlines()) == 1


def test_an_answer_with_a_malformed_address_of_the_hub_is_refused_in_words() -> None:
    process = start("generate", "--prompt", "hi", env=os.environ | {"HF_ENDPOINT": "https://[::1"})
    out, told = process.communicate(timeout=60)
    assert (process.returncode, out) == (3, b"")
    assert told.decode().strip().startswith("HF_ENDPOINT is 'https://[::1', which is not a web address.")
