"""Started with NO_COLOR in a terminal: no colour is written, and other marks replace it."""

import re
import shutil
import sys

import pytest

from tests.app.tui.terminal import Terminal

COLOUR = re.compile(r"\x1b\[(?:[\d;:]*;)?(?:[34][0-8]|58|9\d|10[0-7])(?:[;:][\d;:]*)?m")
"""39, 49 and 59 are no colours: they select the terminal's default."""


@pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")
def test_a_start_with_no_color_sends_no_colour_and_keeps_second_cues(terminal: Terminal) -> None:
    assert COLOUR.search("\x1b[1;38;2;9;9;9m") and not COLOUR.search("\x1b[1;4;39;49m")
    underlined, slanted = r"\x1b\[[\d;]*\b4\b[\d;]*m", r"\x1b\[[\d;]*\b3\b[\d;]*m"
    (terminal.home / "config.toml").write_text('theme = "nord"\nmarks = true\n')
    written = terminal.record()

    def wait_for(*styled: str) -> None:
        """Wait until the app has written these patterns."""
        terminal.wait_until(lambda _: all(re.search(one, written()) for one in styled), f"{styled}")

    terminal.send(f"NO_COLOR=1 COLORTERM=truecolor {sys.executable} -m tests.app.tui.scripted_chat")
    wait_for("● scripted")
    terminal.send("hello")
    wait_for("6 tokens", f"{underlined}The target", f"{slanted}checks")
    terminal.press("F6")  # the chosen row is underlined
    wait_for(f"{underlined}hello")
    assert not COLOUR.search(written())
