"""Data to stdout, messages and progress to stderr, control characters to neither."""

import os
import shutil
import sys
from io import TextIOWrapper
from typing import Any, Self, TextIO

from app.shell.errors import MachineFailed
from app.shell.printable import json_text, printable


class ReaderGone(Exception):
    """The reader of our output stopped reading (`mlx-spec generate | head`)."""


def prepare_streams() -> None:
    """Open the null device for every standard stream that was closed (`<&-`): otherwise the next file opened
    gets its number, and MLX reads no weights from file 0. Also escape characters that the encoding lacks.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is the stream's
            os.set_inheritable(null, True)
            setattr(sys, name, open(null, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a program that calls ours may have put another in its place
            stream.reconfigure(errors="backslashreplace")


def is_dumb() -> bool:
    """Whether the terminal can only print lines, like those inside editors."""
    return os.environ.get("TERM") in ("dumb", "unknown")


def data(text: str, end: str = "\n") -> None:
    """Print text to stdout and flush. Raises ReaderGone, or MachineFailed if it cannot be written."""
    try:
        sys.stdout.write(printable(text) + end)
        sys.stdout.flush()
    except BrokenPipeError:
        _silence(sys.stdout)
        raise ReaderGone from None
    except OSError as error:
        _silence(sys.stdout)
        raise MachineFailed(f"The output cannot be written: {error.strerror}. Send it elsewhere.") from error


def json_data(value: Any) -> None:
    """Print one JSON document to stdout."""
    data(json_text(value))


def print_result(as_json: bool, value: Any, text: str) -> None:
    """Print a command's result, as JSON or as text."""
    data(json_text(value) if as_json else text)


def talk(text: str) -> None:
    """Print a line to stderr."""
    _to_stderr(printable(text) + "\n")


def aside(text: str) -> None:
    """Print a text beside the result, dimmed: to stderr if it is a terminal, else nowhere."""
    if text and sys.stderr.isatty():
        shown = printable(text)
        _to_stderr(shown if is_dumb() else f"\x1b[2m{shown}\x1b[22m")


class Progress:
    """One line on stderr that is overwritten, and cleared at exit; silent without a terminal."""

    def __init__(self) -> None:
        self.seen = sys.stderr.isatty() and not is_dumb()
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def show(self, text: str) -> None:
        if self.seen:
            from rich.cells import cell_len, set_cell_size

            line = set_cell_size(printable(text), shutil.get_terminal_size().columns - 1).rstrip()
            _to_stderr(f"\r{line}{' ' * (self._width - cell_len(line))}")
            self._width = cell_len(line)

    def clear(self) -> None:
        if self._width:
            _to_stderr("\r" + " " * self._width + "\r")
            self._width = 0


def forget_unwritable() -> None:
    """Drop buffered output for a stdout that cannot be written: it would fail again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence(sys.stdout)


def _to_stderr(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:  # closed or its disk is full: no reason to lose the answer
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Send buffered text to the null device: the interpreter flushes the stream again at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
