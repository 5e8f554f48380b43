"""Our own small files: atomic writes, locks between programs, shipped tables; and parsing untrusted JSON."""

import fcntl
import json
import os
import shutil
import stat
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO


def atomic_write(file: Path, text: str, mode: int = 0o600) -> None:
    """As `replacing`, with a text. To change what was read, hold `locked` around both."""
    with replacing(file, mode) as out:
        out.write(text.encode())


@contextmanager
def replacing(file: Path, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Write a file that replaces an old one atomically; its folder is made, for the user alone.

    An error leaves the old file unchanged.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with open(handle, "wb") as out:
            os.fchmod(handle, mode)
            yield out
            out.flush()
            os.fsync(handle)
        os.replace(draft, file)
    except BaseException:
        os.unlink(draft)
        raise


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """As `replacing`, with a folder: yields an empty one to write to, whose folder is made if missing.

    Killed between its two renames it leaves the old folder beside, for `put_back`.
    """
    draft, old = folder.with_name(f".{folder.name}.new"), _old(folder)
    shutil.rmtree(draft, ignore_errors=True)  # left by a killed program
    draft.mkdir(parents=True)
    try:
        yield draft
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
            folder.rename(old)
        draft.rename(folder)
    except Exception:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)


def put_back(folder: Path) -> None:
    """Restore the old folder if `replacing_folder` was killed between its renames."""
    if _old(folder).exists() and not folder.exists():
        _old(folder).rename(folder)


def _old(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


@contextmanager
def locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold an exclusive lock on the folder, against other programs and threads; it does not nest.

    The folder is made, for the user alone. On a file system without locks nothing is locked.

    Args:
        wait: for others that hold it; False: raise BlockingIOError.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass
        yield
    finally:
        os.close(descriptor)


def bytes_below(folder: Path) -> int:
    """Bytes of all files in a folder, links not counted; 0 if there is none."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # a download moves it meanwhile
                found = os.lstat(os.path.join(place, name))
                size += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return size


@cache
def shipped_table(module: str, name: str) -> dict[str, Any]:
    """A TOML file of ours, beside the module whose `__file__` is given."""
    return tomllib.loads(Path(module).with_name(name).read_text())


def parse_json(text: str | bytes) -> Any:
    """The value of an untrusted JSON text; ValueError if it is not JSON."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None
