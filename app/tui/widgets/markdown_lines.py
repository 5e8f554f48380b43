"""Markdown as lines while it grows: what is complete is drawn once, the last block with each growth."""

from app.tui.widgets.coloured_code import ColouredCode
from app.tui.widgets.markdown_blocks import Page, blocks, first_line
from app.tui.widgets.wrapping import Line, Styles


class MarkdownLines:
    """Lines of a text that is safe to print.

    A block is complete where another one begins in a complete line: no text to come can change it then,
    for definitions and underlines are no part of this Markdown.
    """

    def __init__(self, styles: Styles = ()) -> None:
        """`styles`: of all text."""
        self._styles = styles
        self._begin_again(0, 1)

    def _begin_again(self, begin: int, width: int) -> None:
        self._begin, self._width = begin, width
        self._text = ""
        self.lines: list[Line] = []
        self.codes: dict[int, ColouredCode] = {}
        """Blocks of code by their place."""
        self._open = (0, 0)
        """Where the open block begins, in the text and in the lines."""

    def show(self, text: str, begin: int, width: int) -> None:
        """Draw a text, of which the one before may be the beginning.

        `begin`: its own, in a longer one, of which the lines tell the places.
        """
        if (begin, width) != (self._begin, self._width) or not text.startswith(self._text):
            self._begin_again(begin, width)
        elif text == self._text:
            return
        self._text = text
        at, first = self._open
        source = text[at:]
        del self.lines[first:]
        page = Page(source, begin + at, self.codes, self._styles)
        complete = source.count("\n")
        for place, block in enumerate(blocks(source)):
            if place and page.follows_blank(block):
                self.lines.append(())
            if first_line(block) < complete:
                self._open = page.place(block) - begin, len(self.lines)
            self.lines += page.lines(block, width)
