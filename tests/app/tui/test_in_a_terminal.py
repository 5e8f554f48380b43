"""The whole program in a real terminal with the built-in pair. Run by `make slow` and by .ci/run."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.tui.terminal import PATIENCE_SECONDS, ROOT, Terminal, processes_of
from tests.app.tui.test_saved_chats import saved as chats

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]

LONG = "Give me twenty examples of drafting."
"""Its answer takes a second or more."""


def streams(shown: str) -> bool:
    """Whether the answer to LONG has begun to appear."""
    _, _, below = shown.partition(LONG)
    # Below the legend stand the gauges of the answer in progress; before it begins they are empty.
    _, _, gauges = below.partition("accepted drafted")
    return "tok/s" in gauges


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(tmp_path) as terminal:
        yield terminal


def saved(home: Path) -> list[dict[str, Any]]:
    """The messages of the only chat in the history."""
    environment = os.environ | {"MLX_SPEC_HOME": str(home), "PYTHONPATH": str(ROOT)}

    def history(*arguments: str) -> Any:
        command = [sys.executable, "-m", "app", "history", *arguments]
        return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)

    (chat,) = history("list", "--json")["chats"]
    (whole,) = history("show", chat["id"], "--json")["chats"]
    return whole["messages"]


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_type_stream_stop_compare_and_quit(terminal: Terminal) -> None:
    terminal.start_app("--max-tokens", "400")
    terminal.type("What is speculative decoding?")
    terminal.press("Enter")
    terminal.wait_for("first token")
    terminal.type(LONG)
    terminal.press("Enter")
    terminal.wait_until(streams, "streamed words")
    terminal.press("Escape")
    terminal.wait_for("stopped by")
    terminal.press("F5")
    terminal.wait_for("identical")
    terminal.press("Escape")
    terminal.wait_for("● builtin")
    terminal.press("C-q")
    terminal.wait_for("ended with code 0")
    assert processes_of(terminal.home) == []
    texts = [message["text"] for message in saved(terminal.home)]
    assert texts[0] == "What is speculative decoding?" and texts[2] == LONG
    assert all(texts)


def test_a_pasted_text_with_control_characters_stays_in_the_prompt(terminal: Terminal) -> None:
    terminal.start_app()
    terminal.paste("esc \x1b[31m red\nline 2\n")
    terminal.wait_for("esc ␛[31m red", "line 2")
    terminal.paste("x\x1b" * 3000)
    terminal.wait_for("x␛x␛")
    assert "first token" not in terminal.screen() and "queued" not in terminal.screen()
    terminal.press("C-q")
    terminal.wait_for("ended with code 0")


def test_a_first_prompt_typed_in_one_go_is_sent_whole(terminal: Terminal) -> None:
    terminal.start_app(first=True)
    terminal.type("tell me about lookup")
    terminal.wait_for("│ tell me about lookup")
    terminal.press("F2")
    terminal.wait_for("Enter uses a pair")
    terminal.press("Enter", "Enter")
    terminal.wait_for("│ tell me about lookup")
    terminal.press("C-q")
    terminal.wait_for("ended with code 0")


def test_a_closed_terminal_ends_everything_and_keeps_the_answer(terminal: Terminal) -> None:
    terminal.start_app("--max-tokens", "2000")
    terminal.type(LONG)
    terminal.press("Enter")
    terminal.wait_until(streams, "streamed words")
    until(
        lambda: any(
            len(message.text) > 10 for _, messages in chats(terminal.home) for message in messages[1:]
        )
    )
    assert len(processes_of(terminal.home)) == 2
    terminal.close()
    until(lambda: not processes_of(terminal.home))
    prompt, answer = saved(terminal.home)
    assert prompt["text"] == LONG and len(answer["text"]) > 10


def test_suspending_resuming_and_resizing_lose_nothing(terminal: Terminal) -> None:
    terminal.start_app()
    terminal.type("What is a draft?")
    terminal.press("Enter")
    terminal.wait_for("first token")
    terminal.press("C-z")
    terminal.wait_for("Stopped", gone="● builtin")
    terminal.type("fg")
    terminal.press("Enter")
    terminal.wait_for("What is a draft?", "first token", "● builtin")
    terminal.type(LONG)
    terminal.press("Enter")
    for width, height in ((40, 20), (80, 24), (120, 40)):
        terminal.resize(width, height)
        terminal.wait_for("● builtin")
    terminal.press("C-q")
    terminal.wait_for("$", gone="● builtin")
    terminal.type("echo it ended with code $?")
    terminal.press("Enter")
    terminal.wait_for("it ended with code 0")
    assert [message["text"] for message in saved(terminal.home)][:3:2] == ["What is a draft?", LONG]


def test_two_instances_at_once_both_answer_and_keep_their_chats(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    with Terminal(tmp_path / "second") as second:
        second.type(f"export MLX_SPEC_HOME={terminal.home}")
        second.press("Enter")
        for one in (terminal, second):
            one.start_app()
        for one in (terminal, second):
            one.type("What is a draft?")
            one.press("Enter")
        for one in (terminal, second):
            one.wait_for("first token")
            one.press("C-q")
            one.wait_for("ended with code 0")
    log = (terminal.home / "engine.log").read_text()
    assert "Traceback" not in log
