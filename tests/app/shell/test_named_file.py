"""Files that the user names are written whole or not at all."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from app.shell.errors import BadInput, MachineFailed
from app.shell.named_file import check_place, write_text


@contextmanager
def a_full_disk() -> Iterator[None]:
    """No file grows beyond 10 bytes."""
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1][1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before[1])
        signal.signal(signal.SIGXFSZ, before[0])


def test_a_full_disk_leaves_the_old_file_and_no_half_of_a_new_one(tmp_path: Path) -> None:
    old, new = tmp_path / "old.md", tmp_path / "new.md"
    old.write_text("kept")
    for file in (old, new):
        with pytest.raises(MachineFailed, match=f"{file.name} cannot be written"), a_full_disk():
            write_text(file, "more than ten bytes")
    assert old.read_text() == "kept" and [*tmp_path.iterdir()] == [old]


def test_a_pipe_that_nothing_can_be_written_to_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(Path, "write_bytes", Mock(side_effect=OSError(5, "Input/output error")))
    with pytest.raises(MachineFailed, match="pipe cannot be written: Input/output error"):
        write_text(tmp_path / "pipe", "text")
    assert (tmp_path / "pipe").is_fifo()


def test_a_missing_folder_is_told_from_one_that_takes_no_files_such_as_proc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MachineFailed, match=f"there is no folder {tmp_path}/gone"):
        write_text(tmp_path / "gone" / "x.md", "text")
    monkeypatch.setattr(Path, "write_bytes", Mock(side_effect=FileNotFoundError(2, "No such file")))
    with pytest.raises(MachineFailed, match=f"{tmp_path} takes no files"):
        write_text(tmp_path / "x.md", "text")


def test_a_replaced_file_keeps_its_mode_and_a_link_to_it_stays_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.write_text("old")
    file.chmod(0o640)
    link.symlink_to(file)
    write_text(link, "new")
    assert link.is_symlink() and file.read_text() == "new" and file.stat().st_mode & 0o777 == 0o640
    write_text(Path("/dev/null"), "a device is written to, not replaced")
    assert Path("/dev/null").is_char_device()


def test_of_a_link_to_nowhere_the_missing_folder_is_named(tmp_path: Path) -> None:
    (link := tmp_path / "link").symlink_to(tmp_path / "gone" / "file")
    with pytest.raises(BadInput, match=f"--csv {link}: there is no folder {tmp_path}/gone."):
        check_place("--csv", link)


def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    for locked in (file, tmp_path):  # root may write anywhere
        monkeypatch.setattr(
            "os.access", lambda path, mode, locked=locked: Path(path) not in (locked, Path("/dev"))
        )
        with pytest.raises(BadInput, match="no permission"):
            check_place("--csv", file)
    check_place("--csv", Path("/dev/null"))
