"""Started with NO_COLOR in a pseudo-terminal: no colour reaches it, and other signs say what colour said."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SGR = re.compile(r"\x1b\[([\d;:]*)m")
PATIENCE_SECONDS = 60


class Running:
    """The app in a pseudo-terminal and everything it wrote there."""

    def __init__(self, terminal: int, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.written = ""
        self._terminal = terminal
        self._raw = b""

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def wait_for(self, text: str, after: int = 0) -> None:
        """Until the app has written a text, colours and places left out, from a place on."""
        end = time.monotonic() + PATIENCE_SECONDS
        while text not in re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", self.written[after:]):
            assert time.monotonic() < end, self.written[-3000:]
            self.read()

    def read(self) -> None:
        if select.select([self._terminal], [], [], 0.1)[0]:
            try:
                self._raw += os.read(self._terminal, 65536)
            except OSError:  # the app has closed its side
                return
            self.written = self._raw.decode(errors="replace")


@contextmanager
def started(home: Path, **environment: str) -> Iterator[Running]:
    terminal, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    known = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    known |= {"MLX_SPEC_HOME": str(home), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    known |= {"COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none"} | environment
    command = [sys.executable, "-m", "tests.app.tui.scripted_chat"]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=known, cwd=ROOT, start_new_session=True
    )
    os.close(theirs)
    try:
        yield Running(terminal, process)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


def parameters(written: str) -> set[int]:
    """All numbers of all SGR sequences; those of a colour's own value left out."""
    found: set[int] = set()
    for sequence in SGR.findall(written):
        numbers = [int(number or 0) for number in re.split("[;:]", sequence)]
        while numbers:
            number = numbers.pop(0)
            found.add(number)
            if number in (38, 48, 58) and numbers:
                del numbers[: 4 if numbers[0] == 2 else 2]
    return found


def is_colour(number: int) -> bool:
    """39, 49 and 59 are no colours: they ask for the terminal's own."""
    return number in range(30, 39) or number in range(40, 49) or number == 58 or number in range(90, 108)


def last_drawn(written: str, text: str) -> str:
    """The last drawing of a text, with what its style was set by; a line may be drawn in parts."""
    place = written.rindex(text)
    return written[max(0, place - 40) : place + len(text)]


@pytest.mark.parametrize("theme", ["textual-dark", "ansi-dark", "nord"])
def test_a_start_with_no_color_sends_no_colour_and_keeps_second_cues(tmp_path: Path, theme: str) -> None:
    (tmp_path / "config.toml").write_text(f'theme = "{theme}"\nmarks = true\n')
    with started(tmp_path, NO_COLOR="1") as app:
        app.wait_for("● scripted")
        app.type("hello\r")
        app.wait_for("6 tokens")
        accepted, bonus = (last_drawn(app.written, text) for text in ("The target", "checks"))
        assert re.search(r"\x1b\[[\d;]*\b4\b[\d;]*mThe target", accepted), "an accepted token is underlined"
        assert re.search(r"\x1b\[[\d;]*\b3\b[\d;]*mchecks", bonus), "a bonus token is slanted"
        before = len(app.written)
        app.type("\x1b[17~")  # F6
        app.wait_for("1 chat", before)
        app.wait_for("hello", before)
        assert re.search(r"\x1b\[[\d;]*\b4\b[\d;]*mhello", app.written[before:]), (
            "the chosen row is underlined"
        )
        app.type("\x11")  # Ctrl+Q
        end = time.monotonic() + PATIENCE_SECONDS
        while app.process.poll() is None:
            assert time.monotonic() < end
            app.read()
        assert app.process.returncode == 0
        used = parameters(app.written)
        assert not {number for number in used if is_colour(number)}
        assert {1, 3, 4} <= used


def test_without_no_color_there_are_colours(tmp_path: Path) -> None:
    with started(tmp_path) as app:
        app.wait_for("● scripted")
        assert any(is_colour(number) for number in parameters(app.written))
