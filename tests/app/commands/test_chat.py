"""The chat without a terminal: one answer per group of lines, one conversation."""

import io
import os
import pty
import sys
from contextlib import suppress
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING, cast

import pytest

from app.cli import main
from app.commands import loading
from app.commands.chat import answer_lines, line_groups
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput
from tests.app.run_command import Cli
from tests.app.scripted_pair import STOP, ScriptedEngine, ScriptedPair
from tests.app.tiny_pair import TinyPair
from tests.models.tiny_models import edit

if TYPE_CHECKING:
    from models.load.engine import LoadedPair


def chat(
    monkeypatch: pytest.MonkeyPatch, given: bytes, answer: str, temperature: float = 0.0
) -> ScriptedEngine:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    options = AnswerOptions(temperature=temperature, seed=7)
    engine = ScriptedEngine([*answer.encode(), STOP])
    assert answer_lines(cast("LoadedPair", ScriptedPair(engine)), options) == 0
    return engine


@pytest.mark.parametrize(
    ("given", "answer", "temperature", "printed"),
    [
        (b"one\ntwo\n\n\nthree\n", "yes", 0.0, ("yes\n\nyes\n\n", "")),
        (b"\n \n", "yes", 0.0, ("", "")),
        (b"hi", "yes", 0.8, ("yes\n\n", "Seed 7.\n")),
        (b"hi", "\x1b]52;c;evil\x07", 0.0, ("\u241b]52;c;evil\u2407\n\n", "")),
    ],
    ids=["two answers", "no input is no answer", "a seed is shown", "control characters are shown"],
)
def test_answers_are_printed_with_empty_lines_between_them(
    given: bytes, answer: str, temperature: float, printed: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    chat(monkeypatch, given, answer, temperature)
    assert capsys.readouterr() == printed


def test_groups_of_lines_are_prompts_of_one_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = chat(monkeypatch, b"one\ntwo\n\n\nthree\n", "yes")
    prompts = [bytes(prompt).decode() for prompt in engine.prompts]
    assert prompts == ["<user>one\ntwo", "<user>one\ntwo<assistant>yes<user>three"]


def test_a_binary_line_is_refused_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="Line 2 of stdin"):
        chat(monkeypatch, b"hi\n\xff\xfe\n", "yes")


def test_an_endless_line_is_refused_before_it_fills_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.commands.chat.LARGEST_PROMPT", 100)
    stdin = io.BytesIO(b"a" * 1000)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin))
    with pytest.raises(BadInput, match="Line 1 of stdin is larger than"):
        next(line_groups())
    assert stdin.tell() == 101


def _all_written(terminal: int) -> str:
    """Read to the end: the kernel may pass on in parts what was written to the other side, now closed."""
    content = b""
    with suppress(OSError):  # Linux's way to say that the other side is closed
        while part := os.read(terminal, 65536):
            content += part
    return content.decode(errors="replace")


@pytest.mark.parametrize("is_piped", [False, True], ids=["TERM=dumb", "chat | cat"])
def test_without_a_full_screen_the_chat_says_how_to_write_and_answers_line_by_line(
    is_piped: bool, tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyboard, terminal = pty.openpty()
    os.write(keyboard, b"hello\n\n\x04")
    monkeypatch.setenv("TERM", "xterm" if is_piped else "dumb")
    monkeypatch.setattr("app.tui.run.run_chat", lambda *_, **__: pytest.fail("a full screen"))
    with (tmp_path / "piped").open("w+") as pipe, open(terminal, "rb+", buffering=0) as tty:
        typed, written = io.TextIOWrapper(tty), io.TextIOWrapper(tty, write_through=True)
        monkeypatch.setattr(sys, "stdin", typed)
        monkeypatch.setattr(sys, "stderr", written)
        monkeypatch.setattr(sys, "stdout", pipe if is_piped else written)
        assert main(["chat", *tiny_pair.arguments, "--max-tokens", "4", "--no-draft"]) == 0
        pipe.seek(0)
        answer = pipe.read()
    shown = _all_written(keyboard)
    os.close(keyboard)
    assert "Ctrl+D ends the chat" in shown and "\x1b" not in shown + answer
    assert bool(answer) == is_piped


def test_a_model_without_a_chat_template_says_so_before_it_is_measured(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    target = copytree(tiny_pair.target, tmp_path / "base")
    edit(target / "tokenizer_config.json", chat_template=None)
    monkeypatch.setattr(loading, "measured", lambda pair: pytest.fail("it was measured"))
    monkeypatch.setattr("app.engine.drafting_state.restore", lambda pair: False)
    assert "has no chat template" in run("chat --draft none --target", target, code=2).err


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--server", ""], "--server is empty"),
        (["--resume", ""], "begins with ''"),
        (["builtin", "--temporary", "--resume", "last"], "Give one of them"),
    ],
)
def test_a_server_or_chat_that_is_none_is_refused_and_no_other_opens(
    given: list[str], why: str, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr("app.commands.chat.has_screen", lambda: True)
    monkeypatch.setattr("app.tui.run.run_chat", lambda *given, **named: pytest.fail("it opened"))
    assert why in run("chat", *given, code=2).err
