"""A path as a person writes it."""

import os
from pathlib import Path

from app.errors import BadInput
from app.printable import one_line


def written_out(path: str | Path) -> Path:
    """With a `~` or `~name` at its beginning written out; a `~name` that nobody has stays as it is."""
    return Path(os.path.expanduser(path))


def file_to_read(path: str) -> Path:
    """As `written_out`, of a file that a screen waits for.

    Raises:
        BadInput: a pipe or a device, which may never end.
    """
    file = written_out(path)
    if os.path.exists(file) and not (os.path.isfile(file) or os.path.isdir(file)):
        raise BadInput(f"{one_line(path)} is no plain file, so it cannot be read here.")
    return file
