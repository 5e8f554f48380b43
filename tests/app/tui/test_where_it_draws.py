"""Where the screen is drawn when stderr is redirected: Textual itself would draw into the file."""

import os
import sys
from pathlib import Path

import pytest
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from app.tui.run import draw_where_it_is_seen


@pytest.mark.parametrize("closed", [True, False], ids=["2>&-", "2>file"])
async def test_the_screen_is_drawn_on_stdout_where_stderr_is_no_terminal(
    closed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "log").open("w") as log:
        monkeypatch.setattr(sys, "__stderr__", None if closed else log)
        draw_where_it_is_seen()
        assert LinuxDriver(App())._file is sys.__stdout__


def test_the_screen_stays_on_a_stderr_that_is_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    with os.fdopen(slave, "w") as terminal:
        monkeypatch.setattr(sys, "__stderr__", terminal)
        draw_where_it_is_seen()
        assert sys.__stderr__ is terminal
    os.close(master)
