"""Files that a command writes. Their place is looked at before the work: nothing is measured in vain."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.shell.errors import BadInput, MachineFailed


def check_place(name: str, file: Path) -> None:
    """Refuse a place where no file can be written.

    Args:
        name: of the argument, for the message.

    Raises:
        BadInput: a folder, in no folder, or not to be written to.
    """
    folder = file.absolute().parent
    if not os.path.isdir(folder):
        raise BadInput(f"{name} {file}: there is no folder {folder}.")
    if os.path.isdir(file):
        raise BadInput(f"{name} {file}: that is a folder. Name a file.")
    if not os.access(file if os.path.exists(file) else folder, os.W_OK):
        raise BadInput(f"{name} {file}: it may not be written there. Name another place.")


def write_text(file: Path, text: str) -> None:
    """Write a file.

    Raises:
        MachineFailed: it cannot be written.
    """
    with writing(file):
        file.write_text(text, encoding="utf-8")


@contextmanager
def writing(file: Path) -> Iterator[None]:
    """What goes wrong inside is told as a file that cannot be written.

    Raises:
        MachineFailed: it cannot be written.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise MachineFailed(
            f"{file} cannot be written: there is no folder {file.absolute().parent}."
        ) from error
    except OSError as error:
        raise MachineFailed(f"{file} cannot be written: {error.strerror}.") from error
