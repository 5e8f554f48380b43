"""Wraps text into lines of a width in cells; no grapheme is cut in two."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes

_WORD = re.compile(r"\S+\s*|\s+")


Styles = tuple[str, ...]
"""Styles as in markup, and an action with an @ in front; a later one wins."""


class Run(NamedTuple):
    """Text drawn in one style, and the part of the source that it shows."""

    text: str
    styles: Styles = ()
    at: int = -1
    """Offset of its source; -1 if it has none, as padding or a border."""
    size: int = 0
    """Characters of its source; if as many as in the text, they correspond one to one."""

    def cut(self, start: int, end: int) -> "Run":
        if self.at < 0:
            return self._replace(text=self.text[start:end])
        first, last = self.source(start), self.source(end)
        return self._replace(text=self.text[start:end], at=first, size=last - first)

    def split(self, *places: int) -> "list[Run]":
        """Split at these offsets; a cut inside a grapheme moves to its end."""
        cuts = {place for place in places if 0 < place < len(self.text)}
        if not cuts:
            return [self]
        if not self.text.isascii():
            ends = [end for _, end, _ in graphemes(self.text)]
            cuts = {ends[bisect_left(ends, cut)] for cut in cuts} - {len(self.text)}
        return [self.cut(start, end) for start, end in pairwise([0, *sorted(cuts), len(self.text)])]

    def source(self, index: int) -> int:
        """Source offset of a character of the text; the text's length as index gives the end."""
        return self.at + (self.size if index >= len(self.text) else min(index, self.size))


Line = tuple[Run, ...]


def exact(text: str, styles: Styles, at: int) -> Run:
    return Run(text, styles, at, len(text))


def text_of(line: Iterable[Run]) -> str:
    return "".join(run.text for run in line)


def cells(line: Iterable[Run]) -> int:
    return sum(cell_len(run.text) for run in line)


def wrapped(runs: Sequence[Run], width: int) -> list[Line]:
    """Lines at most `width` cells wide, not counting blanks at a line's end."""
    text = text_of(runs)
    begins = [0, *accumulate(len(run.text) for run in runs)]
    lines: list[Line] = []
    start = 0
    for paragraph in text.split("\n"):
        for length in line_lengths(paragraph, max(1, width)):
            end = start + length
            first = bisect_right(begins, start) - 1
            lines.append(
                _part(runs[first : bisect_left(begins, end)], start - begins[first], end - begins[first])
            )
            start = end
        start += 1
    return lines


def _part(runs: Sequence[Run], start: int, end: int) -> Line:
    out: list[Run] = []
    for run in runs:
        length = len(run.text)
        if start < length and end > 0:
            out.append(run if start <= 0 and end >= length else run.cut(max(0, start), min(end, length)))
        start, end = start - length, end - length
    return tuple(out)


def line_lengths(text: str, width: int) -> list[int]:
    """Characters of each line."""
    if len(text) <= width and text.isascii():
        return [len(text)]
    lengths: list[int] = []
    length = used = 0
    for match in _WORD.finditer(text):
        word = match.group()
        size = cell_len(word.rstrip())
        if length and used + size > width:
            lengths.append(length)
            length = used = 0
        if size > width:
            for start, end, grapheme in graphemes(word):
                if length and used + grapheme > width and not word[start].isspace():
                    lengths.append(length)
                    length = used = 0
                length += end - start
                used += grapheme
        else:
            length += len(word)
            used += cell_len(word)
    return [*lengths, length]


def graphemes(text: str) -> list[tuple[int, int, int]]:
    """(start, end, cells) of each grapheme; the two halves of a flag, which Rich splits, are joined."""
    out: list[tuple[int, int, int]] = []
    half = False
    for start, end, size in split_graphemes(text)[0]:
        is_half = "\U0001f1e6" <= text[start] <= "\U0001f1ff"
        if half and is_half:
            before = out.pop()
            start, size = before[0], before[2] + size
        half = is_half and not half
        out.append((start, end, size))
    return out
