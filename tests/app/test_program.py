"""The program as a process: its exit codes, Ctrl+C, and standard streams that are closed, full or unread."""

import os
import shlex
import signal
import subprocess
import sys
import tomllib
from importlib.abc import MetaPathFinder
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

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


def test_ctrl_c_keeps_the_text_and_exits_with_130(tiny_pair: TinyPair) -> None:
    running = start("generate", *tiny_pair.arguments, "--prompt", "hello", "--max-tokens", "4000", "--raw",
                    "--draft-length", "2")  # fmt: skip
    assert running.stdout is not None
    first = os.read(running.stdout.fileno(), 10)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert first
    assert b"Interrupted" in err
    assert b"Traceback" not in err
    assert len((first + out).decode(errors="replace")) < 4000


def test_ctrl_c_while_the_program_is_still_being_imported_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Pressed(MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name == "app.cli":
                signal.raise_signal(signal.SIGINT)

    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    begin = EntryPoint("mlx-spec", scripts["mlx-spec"], "console_scripts").load()
    monkeypatch.delitem(sys.modules, "app.cli", raising=False)
    monkeypatch.delattr("app.cli", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Pressed(), *sys.meta_path])
    assert begin() == 130
    assert capfd.readouterr() == ("", "")


def test_a_reader_that_leaves_is_no_error(tiny_pair: TinyPair) -> None:
    with start(
        "generate", *tiny_pair.arguments, "--prompt", "hello", "--max-tokens", "3000", "--raw", "--no-draft"
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        os.read(running.stdout.fileno(), 1)
        running.stdout.close()
        err = running.stderr.read()
    assert running.returncode == 130
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err


def test_closed_standard_streams_are_no_error(tiny_pair: TinyPair) -> None:
    words = ["generate", *tiny_pair.arguments, "--prompt", "hi", "--max-tokens", "4", "--draft-length", "2"]
    done = in_a_shell(words, "<&- >&- 2>&-")
    assert (done.returncode, done.stdout) == (0, b""), done.stderr


@needs_full_device
def test_a_full_stderr_and_a_terminal_without_utf8_cost_no_answer(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    words = ["generate", *tiny_pair.arguments, "--prompt", "é", "--no-draft", "--max-tokens", "60"]
    done = in_a_shell(words, "2>/dev/full")
    assert done.returncode == 0 and done.stdout.decode("ascii")


@pytest.mark.parametrize(("word", "redirection", "code"), [("--version", ">&-", 0), ("pairs", "| true", 130)])
def test_words_that_nobody_reads_are_no_error(word: str, redirection: str, code: int) -> None:
    done = in_a_shell([word], redirection)
    assert (done.returncode, done.stderr) == (code, b"")


@needs_full_device
@pytest.mark.parametrize(
    ("words", "unbuffered"), [(["pairs"], "1"), (["--help"], ""), (["config", "path"], "")]
)
def test_a_full_disk_behind_stdout_is_told_once(
    words: list[str], unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    done = in_a_shell(words, ">/dev/full")
    assert done.returncode == 3
    assert b"No space left" in done.stderr and len(done.stderr.splitlines()) == 1


def test_wrong_use_keeps_its_exit_code_without_stderr() -> None:
    assert in_a_shell(["generate", "--max-tokens", "0"], "2>&-").returncode == 2


def test_an_answer_with_a_malformed_address_of_the_hub_is_refused_in_words() -> None:
    process = start("generate", "--prompt", "hi", env=os.environ | {"HF_ENDPOINT": "https://[::1"})
    out, told = process.communicate(timeout=60)
    assert (process.returncode, out) == (3, b"")
    assert told.decode().strip().startswith("HF_ENDPOINT is 'https://[::1', which is no web address.")
