"""Tables on terminals of every width."""

import sys

import pytest

from app.shell.tables import plain_table, print_table


def print_speeds(columns: int, patch: pytest.MonkeyPatch) -> None:
    patch.setenv("COLUMNS", str(columns))
    patch.setenv("TERM", "xterm")  # a dumb one is taken for 80 columns
    patch.setattr(sys.stdout, "isatty", lambda: True)
    grid = plain_table("", ">plain\ntok/s", ">\nratio", ">peak\nmemory", "licence")
    grid.add_row("reasoning", "1234.5", "1.23x", "", "Community License")
    grid.add_row("all", "99.0", "0.98x", "51.5 MB", "")
    print_table(grid)


def test_a_narrow_terminal_gets_a_block_of_lines_per_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    print_speeds(40, monkeypatch)
    assert capsys.readouterr().out.splitlines() == [
        "reasoning",
        "  plain tok/s  1234.5",
        "  ratio        1.23x",
        "  licence      Community License",
        "all",
        "  plain tok/s  99.0",
        "  ratio        0.98x",
        "  peak memory  51.5 MB",
    ]


def test_a_terminal_that_is_wide_enough_gets_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    print_speeds(60, monkeypatch)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "1234.5" in line)
    assert line.split()[:3] == ["reasoning", "1234.5", "1.23x"]
