"""Lays out growing Markdown: complete blocks once, the last block again each time."""

from app.tui.widgets.coloured_code import ColouredCode
from app.tui.widgets.markdown_blocks import Page, blocks, first_line
from app.tui.widgets.wrapping import Line, Styles


class MarkdownLines:
    """Lines of a text that is safe to print.

    A block is complete once another one begins in a complete line, a table in two: no later text can change
    it, since this Markdown has no link definitions and no heading underlines.
    """

    def __init__(self, styles: Styles = ()) -> None:
        """`styles`: for all text."""
        self._styles = styles
        self._reset(0, 1)

    def _reset(self, begin: int, width: int) -> None:
        self._begin, self._width = begin, width
        self._text = ""
        self.lines: list[Line] = []
        self.codes: dict[int, ColouredCode] = {}
        """Code blocks by offset."""
        self._open = (0, 0)
        """Start of the block to lay out again next, in the text and in the lines."""

    def show(self, text: str, begin: int, width: int) -> None:
        """Lay out a text, which usually continues the previous one.

        `begin`: its offset in a longer text, whose offsets the lines refer to.
        """
        if (begin, width) != (self._begin, self._width) or not text.startswith(self._text):
            self._reset(begin, width)
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
            if first_line(block) + (block.type == "table") < complete:  # its second line may be no border yet
                self._open = page.place(block) - begin, len(self.lines)
            self.lines += page.lines(block, width)
