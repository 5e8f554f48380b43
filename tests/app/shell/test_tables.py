"""Tables on terminals of every width."""

import sys
from io import BytesIO, TextIOWrapper

import pytest

from app.shell.tables import plain_table, print_table

BLOCKS = """\
reasoning
  plain tok/s  1234.5
  ratio        1.23x
  licence      Community License
all
  plain tok/s  99.0
  ratio        0.98x
  peak memory  51.5 MB
"""


def test_numbers_stay_whole_in_columns_or_where_these_are_too_wide_in_a_block_of_lines_per_row(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")  # for a dumb terminal rich assumes 80 columns
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    grid = plain_table("", ">plain\ntok/s", ">\nratio", ">peak\nmemory", "licence")
    grid.add_row("reasoning", "1234.5", "1.23x", "", "Community License")
    grid.add_row("all", "99.0", "0.98x", "51.5 MB", "")
    monkeypatch.setenv("COLUMNS", "40")
    print_table(grid)
    assert capsys.readouterr().out == BLOCKS
    monkeypatch.setenv("COLUMNS", "60")
    print_table(grid)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "1234.5" in line)
    assert line.split()[:3] == ["reasoning", "1234.5", "1.23x"]


def test_a_pipe_gets_no_colours_whatever_the_environment_wants(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    grid = plain_table("pair", "licence")
    grid.add_row("builtin", "Apache-2.0")
    print_table(grid)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == " pair     licence" and lines[3] == " builtin  Apache-2.0"


def test_a_rule_is_drawn_with_the_characters_that_the_output_has(monkeypatch: pytest.MonkeyPatch) -> None:
    out = TextIOWrapper(BytesIO(), encoding="latin-1", errors="backslashreplace")
    monkeypatch.setattr(sys, "stdout", out)
    grid = plain_table("pair", "licence")
    grid.add_row("builtin", "Apache-2.0")
    print_table(grid)
    assert out.buffer.getvalue().splitlines()[2] == b"|-------+-----------|"  # type: ignore[attr-defined]
