"""Where words go: data to stdout, talk and progress to stderr, nothing a terminal would obey to either."""

import os
import sys
from typing import Any

from app.printable import json_text, printable


class ReaderGone(Exception):
    """Whoever read our output stopped reading (`mlx-spec generate | head`)."""


def make_streams_tolerant() -> None:
    """Characters that the terminal's encoding lacks are escaped instead of being an error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # a test's capture has none
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def data(text: str, end: str = "\n") -> None:
    """Text for stdout, at once."""
    try:
        sys.stdout.write(printable(text) + end)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes stdout once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise ReaderGone from None


def json_data(value: Any) -> None:
    """One JSON document for stdout."""
    data(json_text(value))


def talk(text: str) -> None:
    """A line for stderr."""
    _to_stderr(printable(text) + "\n")


class Progress:
    """One line on stderr that is written over; quiet where nobody is looking."""

    def __init__(self) -> None:
        self.seen = sys.stderr.isatty()
        """Somebody is looking."""
        self._width = 0

    def show(self, text: str) -> None:
        """Replace the line."""
        if self.seen:
            line = printable(text)[: _columns() - 1]
            _to_stderr("\r" + line.ljust(self._width))
            self._width = len(line)

    def clear(self) -> None:
        """Take the line away."""
        if self.seen and self._width:
            _to_stderr("\r" + " " * self._width + "\r")
            self._width = 0


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _to_stderr(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except BrokenPipeError:
        return
