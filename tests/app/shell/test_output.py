"""The line that shows how far a command is."""

import sys
from io import StringIO

import pytest
from rich.cells import cell_len

from app.shell.output import Progress


def test_progress_stays_in_its_line_in_scripts_with_wide_characters_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    with Progress() as line:
        line.show("Run 1 of 2: " + "\u63d0\u793a" * 9)
        line.show("b")
    first, second, *_ = screen.getvalue().removeprefix("\r").split("\r")
    assert cell_len(second) == cell_len(first) < 20, "the whole line is written over"
