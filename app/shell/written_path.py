"""A path as a person writes it."""

import os
from pathlib import Path

from app.shell.errors import BadInput
from app.shell.printable import one_line


def written_out(path: str | Path) -> Path:
    """With a `~` or `~name` at its beginning written out; a `~name` that nobody has stays as it is."""
    return Path(os.path.expanduser(path))


def file_to_read(path: str) -> Path:
    """As `written_out`, of a file that a screen waits for.

    Raises:
        BadInput: a pipe or a device, which may never end.
    """
    return _plain(path, "it cannot be read here")


def file_to_write(path: str) -> Path:
    """As `written_out`, of a file that a screen waits for until it is written.

    Raises:
        BadInput: a pipe or a device, which nobody may ever read from.
    """
    return _plain(path, "nothing is written there")


def _plain(path: str, refused: str) -> Path:
    file = written_out(path)
    if os.path.exists(file) and not (os.path.isfile(file) or os.path.isdir(file)):
        raise BadInput(f"{one_line(path)} is no plain file, so {refused}.")
    return file
