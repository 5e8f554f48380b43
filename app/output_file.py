"""Where a command will write a file: looked at before the work, so that nothing is measured in vain."""

import os
from pathlib import Path

from app.errors import BadInput


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
