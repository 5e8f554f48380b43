"""Breaking marked text into lines, grown piece by piece."""

import random

import pytest
from rich.cells import cell_len

from app.engine.events import Mark, Piece
from app.tui.widgets.marked_lines import MarkedLines

TEXT = (
    "A target checks 日本語のテキスト and emoji 👩‍💻👨‍👩‍👧 é́ fine.\n\nAverylongwordwithoutanyblanks" * 3
    + "  two  blanks \n"
)


def text_of(lines: MarkedLines) -> list[str]:
    return ["".join(piece.text for piece in line) for line in lines.lines]


@pytest.mark.parametrize("width", [7, 20, 41, 200])
@pytest.mark.parametrize("seed", range(2))
def test_growing_gives_the_same_lines_as_all_at_once(width: int, seed: int) -> None:
    whole = MarkedLines(width)
    whole.add([Piece(TEXT, "plain")])
    grown, chance, at = MarkedLines(width), random.Random(seed), 0
    while at < len(TEXT):
        size = chance.randint(1, 9)
        grown.add([Piece(TEXT[at : at + size], "plain")])
        at += size
    assert text_of(grown) == text_of(whole)
    assert "\n".join(text_of(grown)).replace("\n", "") == TEXT.replace("\n", "")
    assert all(cell_len(line.rstrip()) <= width for line in text_of(grown))


def test_a_character_made_of_two_pieces_is_not_cut_in_two() -> None:
    lines = MarkedLines(20)
    lines.add([Piece("👩", "accepted"), Piece("\u200d💻 x", "bonus")])
    assert lines.lines[0] == (Piece("👩\u200d💻", "accepted"), Piece(" x", "bonus"))


def test_a_new_width_breaks_the_text_again_and_keeps_the_marks() -> None:
    marks: tuple[Mark, ...] = ("accepted", "bonus", "plain")
    lines = MarkedLines(80)
    pieces = tuple(Piece(f"{mark} words ", mark) for mark in marks)
    lines.add(pieces)
    lines.resize(9)
    assert lines.pieces == pieces
    assert text_of(lines) == ["accepted ", "words ", "bonus ", "words ", "plain ", "words "]
