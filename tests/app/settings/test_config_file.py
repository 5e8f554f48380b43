"""A setting is written into config.toml and nothing else in the file changes."""

import os
import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from app.settings.config import read_config
from app.settings.config_file import write_setting
from app.shell.errors import MachineFailed
from models.files import locked
from models.paths import config_file


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'theme = "nord"\n'),
        ('theme = "old"', 'theme = "nord"'),
        ("# mine\n\ntheme='old'   # for the day\nmarks = 1\n",
         '# mine\n\ntheme = "nord"   # for the day\nmarks = 1\n'),
        ("theme = 3\n", 'theme = "nord"\n'),
        ('# theme = "old" # colours\n', 'theme = "nord"\n# theme = "old" # colours\n'),
        ("[keys]\ntheme = 'f5'\n", "theme = \"nord\"\n[keys]\ntheme = 'f5'\n"),
        ("marks = true\r\n[keys]\r\n", 'theme = "nord"\r\nmarks = true\r\n[keys]\r\n'),
    ],
)  # fmt: skip
def test_only_the_setting_changes(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(before.encode())
    write_setting(file, "theme", "nord")
    assert file.read_bytes().decode() == after
    write_setting(file, "theme", "nord")
    assert file.read_bytes().decode() == after, "a second time changes nothing"
    assert tomllib.loads(after)["theme"] == "nord" and os.listdir(tmp_path) == ["config.toml"]


def test_a_file_with_a_byte_order_mark_is_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows' editors put one first."""
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    file = config_file()
    file.write_text("marks = true\n", "utf-8-sig")
    assert read_config().values == {"marks": True} and not read_config().problems
    write_setting(file, "theme", "nord")
    assert read_config().values == {"marks": True, "theme": "nord"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("theme = [\n", "at end of document"),
        ("marks = \n", "at line 1, column 9"),
        ('"theme" = "old"\n', "sets theme in a way that is not understood"),
        ('theme = """\nold"""\n', "sets theme in a way that is not understood"),
        ("theme = {a = 1}\n", "sets theme in a way that is not understood"),
        (f"a = {'[' * 20_000}", ""),
    ],
    ids=lambda text: text[:9],
)
def test_a_file_that_is_not_understood_stays_as_it_is(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(MachineFailed, match=f"config.toml.*{why}"):
        write_setting(file, "theme", "nord")
    assert file.read_text() == text and os.listdir(tmp_path) == ["config.toml"]


def test_a_link_stays_a_link_and_modes_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "mine.toml", tmp_path / "config.toml"
    real.parent.mkdir()
    real.write_text("marks = true\n")
    real.chmod(0o640)
    link.symlink_to(real)
    write_setting(link, "theme", "nord")
    assert link.is_symlink() and "nord" in real.read_text() and stat.S_IMODE(real.stat().st_mode) == 0o640
    new = tmp_path / "none" / "config.toml"
    write_setting(new, "theme", "nord")
    assert stat.S_IMODE(new.stat().st_mode) == 0o600 and stat.S_IMODE(new.parent.stat().st_mode) == 0o700


def test_two_programs_that_write_wait_for_each_other(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    with ThreadPoolExecutor() as pool:
        with locked(tmp_path):
            other = pool.submit(write_setting, file, "theme", "nord")
            assert not wait([other], 0.1).done and not file.exists()
            file.write_text("marks = true\n")
        other.result(60)
    assert tomllib.loads(file.read_text()) == {"marks": True, "theme": "nord"}
