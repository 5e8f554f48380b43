"""Marks the words of a search in text as it is drawn, so that no text can imitate a mark."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from textual.content import Content

from app.shell.printable import one_line
from app.tui.widgets.wrapping import graphemes

FOUND = "bold underline $text-warning on $warning-muted"


def places(text: str, words: Sequence[str]) -> list[tuple[int, int]]:
    """Start and end of each occurrence of a word, extended to whole graphemes."""
    wanted = sorted({one_line(word) for word in words} - {""}, key=len, reverse=True)
    if not wanted:
        return []
    found = [match.span() for match in re.finditer("|".join(map(re.escape, wanted)), text, re.IGNORECASE)]
    if not found or text.isascii():
        return found
    borders = [0, *(end for _, end, _ in graphemes(text))]
    return [(borders[bisect_right(borders, a) - 1], borders[bisect_left(borders, b)]) for a, b in found]


def with_found(text: Content, words: Sequence[str]) -> Content:
    for start, end in places(text.plain, words):
        text = text.stylize(FOUND, start, end)
    return text
