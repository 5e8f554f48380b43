"""Data to stdout, messages and progress to stderr, nothing a terminal would obey to either."""

import os
import shutil
import sys
from typing import Any, Self, TextIO

from app.shell.errors import MachineFailed
from app.shell.printable import json_text, printable


class ReaderGone(Exception):
    """The reader of our output stopped reading (`mlx-spec generate | head`)."""


def prepare_streams() -> None:
    """Open the null device for every standard stream that was closed (`<&-`): otherwise the next file opened
    gets its number, and MLX reads no weights from file 0. Characters that the encoding lacks are escaped.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is the stream's
            os.set_inheritable(null, True)
            setattr(sys, name, open(null, mode, encoding="utf-8", closefd=False))
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # a test's capture has none
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def is_dumb() -> bool:
    """Whether the terminal can only be written on line by line, as those of editors."""
    return os.environ.get("TERM") in ("dumb", "unknown")


def data(text: str, end: str = "\n") -> None:
    """Text for stdout, at once. Raises ReaderGone, or MachineFailed where it cannot be written."""
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
    """One JSON document for stdout."""
    data(json_text(value))


def print_result(as_json: bool, value: Any, text: str) -> None:
    """What a command did, for a program or for a person."""
    data(json_text(value) if as_json else text)


def talk(text: str) -> None:
    """A line for stderr."""
    _to_stderr(printable(text) + "\n")


class Progress:
    """One line on stderr that is written over, gone when it is left; quiet where none can be."""

    def __init__(self) -> None:
        self.seen = sys.stderr.isatty() and not is_dumb()
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def show(self, text: str) -> None:
        if self.seen:
            line = printable(text)[: shutil.get_terminal_size().columns - 1]
            _to_stderr("\r" + line.ljust(self._width))
            self._width = len(line)

    def clear(self) -> None:
        if self._width:
            _to_stderr("\r" + " " * self._width + "\r")
            self._width = 0


def forget_unwritable() -> None:
    """Drop what is left for a stdout that cannot be written, which would fail once more at the exit."""
    try:
        sys.stdout.flush()
    except OSError:
        _silence(sys.stdout)


def _to_stderr(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:  # nobody reads it, or its disk is full: the answer is still to come
        _silence(sys.stderr)


def _silence(stream: TextIO) -> None:
    """Let what is left in the stream go nowhere: the interpreter writes it once more when it exits."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
