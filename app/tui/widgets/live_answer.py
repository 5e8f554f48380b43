"""The answer while it grows: marked tokens, drawn line by line so that long answers stay cheap."""

from collections.abc import Sequence
from time import monotonic

from rich.segment import Segment
from rich.style import Style
from textual.events import Resize
from textual.geometry import Region, Size
from textual.reactive import var
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from app.engine.events import Mark, Piece, text_of
from app.tui.widgets.mark_styles import MARK_CLASSES, runs
from app.tui.widgets.marked_lines import MarkedLines

AHEAD_SECONDS = 0.4
"""A new height lays out and draws the whole view: as dear as fifty words in lines that are there. What comes
faster than a line in this time gets its rows a few at once."""

MOST_AHEAD, ROWS_PER_AHEAD = 3, 10
"""Empty rows at most, and one only for so many rows of the screen."""

BACK_SECONDS = 1.0
"""Empty rows that were not filled by then are given back: the text paused."""


class LiveAnswer(Widget):
    """Text that can only grow. Takes the height of its lines."""

    COMPONENT_CLASSES = set(MARK_CLASSES.values())
    ALLOW_SELECT = True

    virtual_size = var(Size(0, 0))
    """Without a layout of its own: it changes in one, and nothing here scrolls."""

    def __init__(self) -> None:
        super().__init__()
        self._content = MarkedLines(80)
        self._drawn: dict[int, Strip] = {}
        """Lines as they go to the screen. Textual's own keeping of them ends whenever the height changes."""
        self._mark_styles: dict[Mark, Style] = {}
        """Textual forgets them with every refresh."""
        self._rows = 1
        """The height taken: the lines, and empty rows where more lines are about to come."""
        self._grown = 0, 0.0
        """Lines at the last change of the height, and when that was."""
        self._giving_back: Timer | None = None

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self._content.pieces

    @property
    def text(self) -> str:
        """What is shown, control characters as signs."""
        return self._content.text

    def add(self, pieces: Sequence[Piece]) -> None:
        """Append text; only the lines it touches are drawn again."""
        first = self._content.add(pieces)
        count = len(self._content.lines)
        for y in range(first, count):
            self._drawn.pop(y, None)
        if count > self._rows:
            self._rows = count + self._rows_ahead(count)
            if self._rows > count:
                self._give_back_later()
            self.refresh(layout=True)
        else:
            self.refresh(Region(0, first, self.outer_size.width, count - first))

    def clear(self) -> None:
        """Begin again with no text."""
        self._content = MarkedLines(self._content.width)
        self._drawn, self._rows, self._grown = {}, 1, (0, 0.0)
        self.refresh(layout=True)

    def _rows_ahead(self, count: int) -> int:
        """How many empty rows to take with a new one: as many as fill within `AHEAD_SECONDS`."""
        now = monotonic()
        before, at = self._grown
        self._grown = count, now
        most = min(MOST_AHEAD, self.app.size.height // ROWS_PER_AHEAD)
        return max(0, min(most, int((count - before) / max(now - at, 1e-3) * AHEAD_SECONDS)))

    def _give_back_later(self) -> None:
        if self._giving_back is not None:
            self._giving_back.stop()
        self._giving_back = self.set_timer(BACK_SECONDS, self._give_back)

    def _give_back(self) -> None:
        if self._rows > len(self._content.lines):
            self._rows = len(self._content.lines)
            self.refresh(layout=True)

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """The layout that brings another size also draws all of it; Textual would do so once more."""
        resized = self.size != size
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if resized:
            self._repaint_regions.clear()
        return changed

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._fit(width)
        return self._rows

    def on_resize(self, event: Resize) -> None:
        self._fit(self.content_size.width)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._drawn, self._mark_styles = {}, {}

    @property
    def _chosen(self) -> Selection | None:
        """Textual draws a widget once more after it was taken out; it has no screen to ask then."""
        return self.text_selection if self.is_attached else None

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._chosen is not None or crop.column_span != (0, self.outer_size.width):
            return super().render_lines(crop)
        for y in crop.line_range:
            if y not in self._drawn or self._drawn[y].cell_length != crop.width:
                [self._drawn[y]] = super().render_lines(Region(0, y, crop.width, 1))
        return [self._drawn[y] for y in crop.line_range]

    def render_line(self, y: int) -> Strip:
        if y >= len(self._content.lines):
            return Strip.blank(self.content_size.width, self.visual_style.rich_style)
        return self._strip(y)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract("\n".join(map(text_of, self._content.lines))), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self._drawn = {}
        self.refresh()

    def _fit(self, width: int) -> None:
        if width and width != self._content.width:
            self._content.resize(width)
            self._drawn, self._rows = {}, len(self._content.lines)

    def _strip(self, y: int) -> Strip:
        if not self._mark_styles:
            for mark, name in MARK_CLASSES.items():
                self._mark_styles[mark] = self.get_component_rich_style(name)
        styles, line = self._mark_styles, self._content.lines[y]
        segments = [Segment(text, styles[mark]) for piece in line for text, mark in runs(piece)]
        strip = Strip(segments)
        selection = self._chosen
        span = selection.get_span(y) if selection is not None else None
        if span is not None:
            strip = self._selected(strip, *span)
        width = self.content_size.width
        return strip.crop_extend(0, width, self.visual_style.rich_style).apply_offsets(0, y)

    def _selected(self, strip: Strip, start: int, end: int) -> Strip:
        style = self.screen.get_component_rich_style("screen--selection")
        text = strip.text
        end = len(text) if end == -1 else end
        cells = [Strip([Segment(text[:cut])]).cell_length for cut in (start, end)]
        before, chosen, after = strip.divide([*cells, strip.cell_length]) if text else (strip, strip, strip)
        return Strip.join([before, chosen.apply_style(style), after])
