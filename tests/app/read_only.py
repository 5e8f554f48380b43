"""A read-only folder, for the superuser too, who runs some tests and could write anywhere."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """While entered, the folder is like a file system mounted read-only; open files stay writable."""
    open_file, access, mkdir = os.open, os.access, os.mkdir

    def inside(path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and Path(path).is_relative_to(folder)

    def opened(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and inside(path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fspath(path))
        return open_file(path, flags, *more, **named)

    def allowed(path: Any, mode: int, **named: Any) -> bool:
        return not (mode & os.W_OK and inside(path)) and access(path, mode, **named)

    def made(path: Any, *more: Any, **named: Any) -> None:
        if inside(path) and not os.path.isdir(path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), os.fspath(path))
        mkdir(path, *more, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", opened)
        patch.setattr(os, "access", allowed)
        patch.setattr(os, "mkdir", made)
        yield
