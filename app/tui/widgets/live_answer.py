"""The answer while it grows: marked tokens, drawn line by line so that long answers stay cheap."""

from collections.abc import Sequence

from rich.text import Text
from textual.geometry import Region, Size
from textual.reactive import var
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from app.engine.events import Piece, text_of
from app.tui.widgets.marked_lines import MARK_CLASSES, MarkedLines, runs


class LiveAnswer(Widget):
    """Text that can only grow. Takes the height of its lines."""

    COMPONENT_CLASSES = set(MARK_CLASSES.values())
    ALLOW_SELECT = True

    virtual_size = var(Size(0, 0))
    """Without a layout of its own: it changes in one."""

    def __init__(self) -> None:
        super().__init__()
        self._content = MarkedLines(80)
        self._drawn: dict[int, Strip] = {}
        """Textual forgets its own whenever the height changes."""

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self._content.pieces

    @property
    def text(self) -> str:
        return self._content.text

    def add(self, pieces: Sequence[Piece]) -> None:
        """Append text; only the lines it touches are drawn again."""
        before = len(self._content.lines)
        first = self._content.add(pieces)
        count = len(self._content.lines)
        for y in range(first, count):
            self._drawn.pop(y, None)
        if count == before:
            self.refresh(Region(0, first, self.outer_size.width, count - first))
        else:
            self.refresh(layout=True)

    def clear(self) -> None:
        self._content = MarkedLines(self._content.width)
        self._drawn = {}
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width and width != self._content.width:
            self._content.resize(width)
            self._drawn = {}
        return len(self._content.lines)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._drawn = {}

    def render_lines(self, crop: Region) -> list[Strip]:
        if crop.column_span != (0, self.outer_size.width):
            return super().render_lines(crop)
        for y in crop.line_range:
            if y not in self._drawn or self._drawn[y].cell_length != crop.width:
                [self._drawn[y]] = super().render_lines(Region(0, y, crop.width, 1))
        return [self._drawn[y] for y in crop.line_range]

    def render_line(self, y: int) -> Strip:
        width, base = self.content_size.width, self.visual_style.rich_style
        if y >= len(self._content.lines):
            return Strip.blank(width, base)
        line = Text(end="")
        for piece in self._content.lines[y]:
            for text, mark in runs(piece):
                line.append(text, self.get_component_rich_style(MARK_CLASSES[mark]))
        # Textual draws a widget once more after it was removed: it has no screen to ask then.
        selection = self.text_selection if self.is_attached else None
        if selection is not None and (span := selection.get_span(y)) is not None:
            start, end = span
            style = self.screen.get_component_rich_style("screen--selection")
            line.stylize(style, start, None if end == -1 else end)
        strip = Strip(line.render(self.app.console))
        return strip.crop_extend(0, width, base).apply_offsets(0, y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract("\n".join(map(text_of, self._content.lines))), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self._drawn = {}
        self.refresh()
