"""Marked text broken into lines of a given width. Growing it touches the last line only."""

import re
from collections.abc import Iterable
from typing import get_args

from rich.cells import cell_len, split_graphemes

from app.engine.events import Mark, Piece, append, merged, text_of
from app.shell.printable import printable

Line = tuple[Piece, ...]

_WORD = re.compile(r"\S+\s*|\s+")
_TAB = "    "

MARK_CLASSES: dict[Mark, str] = {mark: f"mark--{mark}" for mark in get_args(Mark)}
"""Component classes; chat.tcss gives accepted text an underline and slants bonus text."""


class MarkedLines:
    """Lines of pieces, each at most `width` cells wide, blanks at a line's end not counted."""

    def __init__(self, width: int) -> None:
        self._pieces: list[Piece] = []
        self.lines: list[Line] = [()]
        self.width = max(1, width)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return tuple(self._pieces)

    @property
    def text(self) -> str:
        return text_of(self._pieces)

    def add(self, pieces: Iterable[Piece]) -> int:
        """Append; returns the index of the first line that changed."""
        shown = [Piece(printable(piece.text).replace("\t", _TAB), piece.mark) for piece in pieces]
        last = len(self.lines) - 1
        for piece in shown:
            append(self._pieces, piece)
        self.lines[last:] = _broken((*self.lines[last], *shown), self.width)
        return last

    def resize(self, width: int) -> None:
        self.width = max(1, width)
        self.lines = _broken(self._pieces, self.width)


def _broken(pieces: Iterable[Piece], width: int) -> list[Line]:
    pieces = tuple(pieces)
    text = text_of(pieces)
    marks = _marks(pieces, text)
    lines: list[Line] = []
    start = 0
    for paragraph in text.split("\n"):
        for length in _line_lengths(paragraph, width):
            end = start + length
            lines.append(merged(map(Piece, text[start:end], marks[start:end])))
            start = end
        start += 1
    return lines


def _line_lengths(text: str, width: int) -> list[int]:
    lengths: list[int] = []
    length = cells = 0
    for match in _WORD.finditer(text):
        word = match.group()
        size = cell_len(word.rstrip())
        if length and cells + size > width:
            lengths.append(length)
            length = cells = 0
        if size > width:
            for start, end, grapheme in graphemes(word):
                if length and cells + grapheme > width and not word[start].isspace():
                    lengths.append(length)
                    length = cells = 0
                length += end - start
                cells += grapheme
        else:
            length += len(word)
            cells += cell_len(word)
    return [*lengths, length]


def graphemes(text: str) -> list[tuple[int, int, int]]:
    """Begin, end and cells of each visible character. Rich takes the two halves of a flag apart."""
    out: list[tuple[int, int, int]] = []
    half = False
    for start, end, cells in split_graphemes(text)[0]:
        is_half = "\U0001f1e6" <= text[start] <= "\U0001f1ff"
        if half and is_half:
            before = out.pop()
            start, cells = before[0], before[2] + cells
        half = is_half and not half
        out.append((start, end, cells))
    return out


def _marks(pieces: tuple[Piece, ...], text: str) -> list[Mark]:
    """A mark per character; the parts of one visible character share the first one's."""
    marks: list[Mark] = [piece.mark for piece in pieces for _ in piece.text]
    if not text.isascii():
        for start, end, _ in graphemes(text):
            mark = marks[start]
            marks[start:end] = [mark for _ in range(start, end)]
    return marks


def runs(piece: Piece) -> list[tuple[str, Mark]]:
    """The piece as texts to draw: blanks at its borders are not underlined with it."""
    word = piece.text.strip(" ")
    before, _, after = piece.text.partition(word) if word else (piece.text, "", "")
    parts: list[tuple[str, Mark]] = [(before, "plain"), (word, piece.mark), (after, "plain")]
    return [(text, mark) for text, mark in parts if text]
