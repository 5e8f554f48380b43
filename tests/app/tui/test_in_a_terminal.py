"""The whole program in a real terminal with the built-in pair. Run by `make slow` and by .ci/run."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.app.tui.terminal import LONG, Terminal, pids_of, saved
from tests.app.tui.test_saved_chats import saved as chats
from tests.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")]


def test_type_stream_stop_compare_and_quit(terminal: Terminal) -> None:
    terminal.start_app("--max-tokens", "400")
    terminal.send("What is speculative decoding?")
    terminal.wait_for("first token")
    terminal.stream()
    terminal.wait_for("stopped by", by="Escape")
    terminal.wait_for("same text", by="F5")
    terminal.wait_for("● builtin", by="Escape")
    terminal.quit_app()
    assert pids_of(terminal.home) == {}
    texts = [message["text"] for message in saved(terminal.home)]
    assert texts[0] == "What is speculative decoding?" and texts[2] == LONG
    assert all(texts)


def test_a_pasted_text_with_control_characters_stays_in_the_prompt(terminal: Terminal) -> None:
    terminal.start_app()
    terminal.paste("esc \x1b[31m red\nline 2\n")
    terminal.wait_for("esc ␛[31m red", "line 2")
    terminal.paste("x\x1b" * 3000)
    terminal.wait_for("▤ 6,000 characters pasted")
    terminal.wait_for("x␛x␛", gone="▤", by="C-s")
    assert "first token" not in terminal.screen() and "queued" not in terminal.screen()
    terminal.quit_app()


def test_a_first_prompt_typed_in_one_go_is_sent_whole(terminal: Terminal) -> None:
    terminal.start_app(first=True)
    terminal.type("tell me about lookup")
    terminal.wait_for("│ tell me about lookup")
    terminal.wait_for("Enter uses a pair", by="F2")
    terminal.wait_for("│ tell me about lookup", gone="Enter uses a pair", by="Enter")
    terminal.wait_for("█ tell me about lookup", "first token", gone="│ tell me about lookup", by="Enter")
    terminal.quit_app()
    assert [message["text"] for message in saved(terminal.home)][0] == "tell me about lookup"


def test_a_closed_terminal_ends_everything_and_keeps_the_answer(terminal: Terminal) -> None:
    terminal.start_app("--max-tokens", "2000")
    terminal.stream()
    until(lambda: any(len(each.text) > 10 for _, messages in chats(terminal.home) for each in messages[1:]))
    assert len(pids_of(terminal.home)) == 2
    terminal.close()
    until(lambda: not pids_of(terminal.home))
    prompt, answer = saved(terminal.home)
    assert prompt["text"] == LONG and len(answer["text"]) > 10


def test_suspending_resuming_and_resizing_lose_nothing(terminal: Terminal) -> None:
    terminal.start_app()
    terminal.send("What is a draft?")
    terminal.wait_for("first token")
    terminal.wait_for("Stopped", gone="● builtin", by="C-z")
    terminal.send("fg")
    terminal.wait_for("What is a draft?", "first token", "● builtin")
    terminal.send(LONG)
    for width, height in ((40, 20), (80, 24), (120, 40)):
        terminal.resize(width, height)
        terminal.wait_for("● builtin")
    terminal.wait_for("$", gone="● builtin", by="C-q")
    terminal.send("echo it ended with code $?")
    terminal.wait_for("it ended with code 0")
    assert [message["text"] for message in saved(terminal.home)][:3:2] == ["What is a draft?", LONG]


def test_ctrl_z_returns_to_the_shell_that_waits_for_a_program_around_the_chat(terminal: Terminal) -> None:
    terminal.send(shlex.join(["sh", "-c", f"{sys.executable} -m app chat builtin; echo around it"]))
    terminal.wait_for("● builtin")
    terminal.send("What is a draft?")
    terminal.wait_for("first token")
    terminal.wait_for("Stopped", gone="● builtin", by="C-z")
    terminal.send("fg")
    terminal.wait_for("What is a draft?", "first token", "● builtin")
    terminal.wait_for("around it", gone="● builtin", by="C-q")


def test_two_instances_at_once_both_answer_and_keep_their_chats(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    with Terminal(tmp_path / "second") as second:
        second.send(f"export MLX_SPEC_HOME={terminal.home}")
        for one in (terminal, second):
            one.start_app()
        for one in (terminal, second):
            one.send("What is a draft?")
        for one in (terminal, second):
            one.wait_for("first token")
            one.quit_app()
    log = (terminal.home / "engine.log").read_text()
    assert "Traceback" not in log
