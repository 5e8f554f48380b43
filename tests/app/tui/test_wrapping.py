"""Wrapped text: nothing is lost, no grapheme is cut, every part has its place in the source."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.tui.widgets.wrapping import Run, cells, exact, text_of, wrapped

TEXT = (
    "A target checks 日本語のテキスト and emoji 👩‍💻👨‍👩‍👧 é́ fine.\n\nAverylongwordwithoutanyblanks" * 3
    + "  two  blanks \n"
)


@pytest.mark.parametrize("width", [1, 7, 20, 41, 200])
def test_lines_are_no_wider_than_asked_and_hold_the_whole_text(width: int) -> None:
    runs = [exact(TEXT[start : start + 9], (), start) for start in range(0, len(TEXT), 9)]
    lines = wrapped(runs, width)
    assert "".join(map(text_of, lines)) == TEXT.replace("\n", "")
    if width > 1:
        assert all(cells((Run(text_of(line).rstrip()),)) <= width for line in lines)
    for run in (run for line in lines for run in line):
        assert TEXT[run.at : run.at + run.size] == run.text


def test_a_run_is_not_split_within_a_visible_character() -> None:
    run = exact("a👩\u200d💻 🇩🇪e\u0301", (), 5)
    for place in range(12):
        for part in run.split(place):
            assert part.text in ("a", "👩\u200d💻", " ", "🇩🇪", "e\u0301") or len(part.text) > 1
            assert not part.text.startswith(("\u200d", "💻", "🇪", "\u0301"))
    assert [part.at for part in run.split(1, 4)] == [5, 6, 9]


def test_a_sign_for_several_characters_of_the_source_is_all_of_them() -> None:
    sign = Run("&", (), 3, 5)
    assert [sign.source(0), sign.source(1)] == [3, 8]
    tab = Run("    ", (), 7, 1)
    assert [part.size for part in tab.split(2)] == [1, 0]


class Counted(list[Run]):
    """Counts the runs that are read."""

    read = 0

    def __iter__(self) -> Iterator[Run]:
        for run in super().__iter__():
            self.read += 1
            yield run

    def __getitem__(self, places: Any) -> Any:
        part = super().__getitem__(places)
        self.read += len(part) if isinstance(places, slice) else 1
        return part


def test_of_a_long_paragraph_each_line_reads_its_own_runs_alone() -> None:
    runs = Counted(run for n in range(0, 300, 3) for run in (exact("ab", (), n), exact("\n", (), n + 2)))
    assert [text_of(line) for line in wrapped(runs, 9)] == [*["ab"] * 100, ""]
    assert runs.read <= 3 * len(runs), "all of them twice for the whole text, and each line its own"
