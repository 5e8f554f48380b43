"""One program at a time: several may run beside each other on one folder of our own."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Every other program or thread that locks the folder waits until this is left; it does not nest.

    The folder is made, for the person alone, where there is none. A file system without locks lets all pass.

    Raises:
        OSError: the folder cannot be made or opened.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
