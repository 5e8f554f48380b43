"""The user's texts to draft from: a folder of files, or one file."""

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from models.errors import BadChoice, BadSource, MachineTrouble
from models.size_text import size_text

LARGEST_FILE = 4_000_000
"""Bytes; a larger file is data, not text that an answer repeats."""
LARGEST_FOLDER = 100_000_000
"""Bytes of text; indexing takes about 25 times as much memory."""
MOST_FILES = 50_000
"""Each is checked for changes whenever a pair is loaded."""
_HEAD_BYTES = 8192
"""Read first: a binary file has a zero byte among them."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A file that may hold text."""

    path: str
    size: int
    changed: int
    """Nanoseconds since 1970."""
    readable: bool
    """To become so changes neither its size nor that time."""


def named_documents(text: str) -> str:
    """The absolute path of a folder or file the user typed; BadSource if it does not exist."""
    path = os.path.expanduser(text)
    if not (os.path.isdir(path) or os.path.isfile(path)):
        shown = text if text.strip() else repr(text)
        raise BadSource(f"There are no documents {shown}. Name a folder of texts, or a text file.")
    return os.path.realpath(path)


def listed(place: Path) -> list[Listed]:
    """The file itself, or all files below a folder, by name, without hidden and empty ones; and unreadable
    folders.

    Raises MachineTrouble if the folder cannot be read, BadChoice if it holds more than `MOST_FILES`.
    """
    if os.path.isfile(place):
        return _facts([str(place)])
    try:
        os.listdir(place)
    except OSError as error:
        raise MachineTrouble(f"The documents {place} cannot be read: {error.strerror}.") from error
    paths: list[str] = []
    for folder, folders, names in os.walk(place, onerror=lambda error: paths.append(error.filename)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths.extend(os.path.join(folder, name) for name in sorted(names) if not name.startswith("."))
        if len(paths) > MOST_FILES:
            raise BadChoice(f"{place} holds more than {MOST_FILES:,} files. Name folders inside it.")
    return _facts(paths)


def read_texts(place: Path, files: list[Listed]) -> tuple[list[str], list[str]]:
    """The texts of the UTF-8 files, and a note about unreadable ones and those above `LARGEST_FILE` bytes.

    Raises BadChoice if there is no text, or more than `LARGEST_FOLDER` bytes of it.
    """
    texts: list[str] = []
    unread: list[str] = []
    size = 0
    for file in files:
        try:
            text = _text(file)
        except OSError as error:
            unread.append(f"{file.path} ({error.strerror})")
            continue
        if text is not None:
            texts.append(text)
            size += file.size
        if size > LARGEST_FOLDER:
            limit = size_text(LARGEST_FOLDER)
            raise BadChoice(f"{place} holds more than {limit} of text, too much. Name folders inside it.")
    notes = [f"{len(unread)} of the documents cannot be read, such as {unread[0]}."] if unread else []
    if not any(text.strip() for text in texts):
        raise BadChoice(" ".join([f"{place} holds no text. Name a UTF-8 text, or a folder of them.", *notes]))
    return texts, notes


def _facts(paths: list[str]) -> list[Listed]:
    found: list[Listed] = []
    for path in paths:
        try:
            facts = os.stat(path)
        except OSError:  # deleted meanwhile, or a broken link
            continue
        # A folder is one that could not be listed: why is said when it is opened.
        if (stat.S_ISREG(facts.st_mode) and facts.st_size) or stat.S_ISDIR(facts.st_mode):
            found.append(Listed(path, facts.st_size, facts.st_mtime_ns, os.access(path, os.R_OK)))
    return found


def _text(listed: Listed) -> str | None:
    """None if the file is not UTF-8 text; OSError if it cannot be read or is too large a text."""
    with open(listed.path, "rb") as file:
        begin = file.read(_HEAD_BYTES)
        if b"\0" in begin:
            return None
        if listed.size > LARGEST_FILE:
            raise OSError(errno.EFBIG, f"larger than {size_text(LARGEST_FILE)}")
        content = begin + file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
