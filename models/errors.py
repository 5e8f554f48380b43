"""What can go wrong with pairs, by what the caller can do about it.

ModelsError
├── BadChoice           choose something else
│   ├── UnknownPair     no pair of that name
│   └── BadSource       neither a folder nor a repository
├── NotInstalled        pull it first
├── MachineTrouble      the disk, the memory, the network, the Hub or the files: fix it, try again
│   └── BrokenFiles     truncated, wrong or missing files: pull again
└── PullCancelled       asked for; nothing is wrong
"""

import errno
from pathlib import Path


class ModelsError(Exception):
    """The message is for the user: what happened, the value, what to do.

    Messages quote names from files, models and the Hub, so control characters are escaped.
    """

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in message))


class BadChoice(ModelsError):
    """The request cannot work on any machine."""


class UnknownPair(BadChoice): ...


class BadSource(BadChoice): ...


class NotInstalled(ModelsError): ...


class MachineTrouble(ModelsError): ...


class BrokenFiles(MachineTrouble):
    """`path`: the damaged file, if only one is known to be."""

    def __init__(self, message: str, path: Path | None = None) -> None:
        super().__init__(message)
        self.path = path


class PullCancelled(ModelsError): ...


def is_lack_of_memory(error: Exception) -> bool:
    """Whether memory ran out: Python's MemoryError, or MLX's RuntimeError, known by its text."""
    if isinstance(error, MemoryError):
        return True
    words = ("allocate", "Insufficient Memory")
    return isinstance(error, RuntimeError) and any(word in str(error) for word in words)


def is_full_disk(error: Exception) -> bool:
    """Whether a disk was full: the system's error, or that of MLX or tokenizers, known by its text."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    words = ("Unable to write", "No space left on device")
    return any(word in str(error) for word in words)


def reason_of(error: Exception) -> str:
    """The first line of a library's error, and the one it announces; its class if it has no message."""
    if isinstance(error, RecursionError):
        return "brackets are nested too deep"
    first, *more = str(error).strip().splitlines() or [type(error).__name__]
    return f"{first.strip()} {more[0].strip(' ,.')}" if more and first.strip().endswith(":") else first
