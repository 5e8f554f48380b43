"""Signals, kills and failures of a running program, in a real terminal. Run by `make slow`."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.tui.terminal import Terminal, pids_of, saved
from tests.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
    pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc"),
]


def pid_of(home: Path, what: str) -> int:
    (pid,) = [pid for pid, command in pids_of(home).items() if what in command]
    return pid


def test_stopped_by_a_signal_it_gives_the_terminal_back_and_goes_on_later(terminal: Terminal) -> None:
    terminal.start_app("--max-tokens", "300")
    terminal.stream()
    os.kill(pid_of(terminal.home, "app chat"), signal.SIGTSTP)
    terminal.wait_for("Stopped", gone="● builtin")
    terminal.send("echo the shell says $((6 * 7))")
    terminal.wait_for("the shell says 42")
    terminal.send("fg")
    terminal.wait_for("● builtin", "first token")
    terminal.wait_for("$", gone="● builtin", by="C-q")
    _, answer = saved(terminal.home)
    assert answer["finish"] in ("stop", "length")


def test_suspended_and_killed_by_its_shell_it_ends_and_gives_the_terminal_back(terminal: Terminal) -> None:
    terminal.start_app()
    terminal.send("What is a draft?")
    terminal.wait_for("first token")
    terminal.wait_for("Stopped", gone="● builtin", by="C-z")
    terminal.send("kill %1; sleep 1")
    until(lambda: not pids_of(terminal.home))
    terminal.send("stty -a | grep -c ' icanon.* echo '; echo the shell says $((6 * 7))")
    terminal.wait_for("\n1\n", "the shell says 42")
    assert [message["role"] for message in saved(terminal.home)] == ["user", "assistant"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root can make a small disk here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("full", ["from the start", "later"])
def test_a_full_disk_is_told_the_chat_goes_on_and_is_saved_later(small_disk: Path, full: str) -> None:
    filler = small_disk / "filler"

    def fill() -> None:
        with open(filler, "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                return

    with Terminal(small_disk) as terminal:
        if full == "from the start":
            fill()
        terminal.start_app("--max-tokens", "60")
        if full == "later":
            fill()
        terminal.send("What is a draft?")
        terminal.wait_for("cannot be saved now", "first token")
        filler.unlink()
        terminal.wait_for("saved again")
        terminal.quit_app()
        assert [bool(message["text"]) for message in saved(small_disk)] == [True, True]


def test_only_the_engine_has_mlx_in_memory_whatever_was_opened(terminal: Terminal) -> None:
    terminal.start_app("--max-tokens", "40")
    terminal.send("What is a draft?")
    terminal.wait_for("first token")
    for key, shown in (("F2", "licence"), ("F5", "same text"), ("F6", "1 chat"), ("F8", "Round")):
        terminal.wait_for(shown, by=key)
        terminal.wait_for("● builtin", by="Escape")
    maps = [(Path("/proc") / str(pid_of(terminal.home, what)) / "maps").read_text()
            for what in ("app.engine.process", "app chat")]  # fmt: skip
    assert ["mlx/" in one for one in maps] == [True, False]
