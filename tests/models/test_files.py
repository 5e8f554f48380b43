"""Our own small files are never half written."""

import errno
import os
import stat
from pathlib import Path

import pytest

from models.files import atomic_write


def test_a_full_disk_leaves_the_old_text_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "data" / "kept.json"
    atomic_write(file, "old")

    def is_full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", is_full)
    with pytest.raises(OSError, match="No space left"):
        atomic_write(file, "new")
    assert file.read_text() == "old" and list(file.parent.iterdir()) == [file]


def test_what_is_kept_is_for_the_person_alone_unless_its_file_says_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "data" / "kept.json"
    atomic_write(file, "ä\r\n")
    assert file.read_bytes() == "ä\r\n".encode()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    atomic_write(file, "again", 0o644)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
