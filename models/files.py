"""Our own small files: written whole, changed by one program at a time; and reading JSON of any origin."""

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO


def atomic_write(file: Path, text: str, mode: int = 0o600) -> None:
    """As `replacing`, with a text. A change of what was read goes inside `locked`."""
    with replacing(file, mode) as out:
        out.write(text.encode())


@contextmanager
def replacing(file: Path, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Write a file that replaces an old one at once; its folder is made, for the user alone.

    After an error what was there is as it was.
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
def locked(folder: Path) -> Iterator[None]:
    """Every other program or thread that locks the folder waits until this is left; it does not nest.

    The folder is made, for the user alone. A file system without locks lets all pass.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def parse_json(text: str | bytes) -> Any:
    """The value of an untrusted JSON text; ValueError where it is not JSON."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None
