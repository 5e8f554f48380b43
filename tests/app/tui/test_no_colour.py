"""Started with NO_COLOR in a pseudo-terminal: no colour is written, and other marks replace it."""

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
from pathlib import Path

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 60
COLOUR = re.compile(r"\x1b\[(?:[\d;:]*;)?(?:[34][0-8]|58|9\d|10[0-7])(?:[;:][\d;:]*)?m")
"""39, 49 and 59 are no colours: they select the terminal's default."""


class Running:
    """The app in a pseudo-terminal and everything it wrote there."""

    def __init__(self, home: Path) -> None:
        self._terminal, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        environment = os.environ | {
            "MLX_SPEC_HOME": str(home), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color",
            "COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none", "NO_COLOR": "1",
        }  # fmt: skip
        command = [sys.executable, "-m", "tests.app.tui.scripted_chat"]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, cwd=ROOT,
            start_new_session=True,
        )  # fmt: skip
        os.close(theirs)
        self.written = ""
        self._raw = b""

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def wait_for(self, *styled: str) -> None:
        """Wait until the app has written these patterns."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not all(re.search(pattern, self.written) for pattern in styled):
            assert time.monotonic() < end, self.written[-3000:]
            if select.select([self._terminal], [], [], 0.1)[0]:
                self._raw += os.read(self._terminal, 65536)
                self.written = self._raw.decode(errors="replace")


def test_a_start_with_no_color_sends_no_colour_and_keeps_second_cues(tmp_path: Path) -> None:
    assert COLOUR.search("\x1b[1;38;2;9;9;9m") and not COLOUR.search("\x1b[1;4;39;49m")
    (tmp_path / "config.toml").write_text('theme = "nord"\nmarks = true\n')
    app = Running(tmp_path)
    try:
        app.wait_for("● scripted")
        app.type("hello\r")
        underlined, slanted = r"\x1b\[[\d;]*\b4\b[\d;]*m", r"\x1b\[[\d;]*\b3\b[\d;]*m"
        app.wait_for("6 tokens", f"{underlined}The target", f"{slanted}checks")
        app.type("\x1b[17~")  # F6: the chosen row is underlined
        app.wait_for(f"{underlined}hello")
        assert not COLOUR.search(app.written)
    finally:
        app.process.kill()
        app.process.wait()
