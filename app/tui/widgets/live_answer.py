"""The answer while it grows: marked tokens, drawn line by line so that long answers stay cheap."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.events import Resize
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from app.events import Piece
from app.tui.mark_styles import MARK_CLASSES, runs
from app.tui.marked_lines import MarkedLines


class LiveAnswer(Widget):
    """Text that can only grow. Takes the height of its lines."""

    COMPONENT_CLASSES = set(MARK_CLASSES.values())
    ALLOW_SELECT = True

    def __init__(self) -> None:
        super().__init__()
        self._content = MarkedLines(80)
        self._strips: dict[int, Strip] = {}

    @property
    def pieces(self) -> tuple[Piece, ...]:
        return self._content.pieces

    @property
    def text(self) -> str:
        """What is shown, control characters as signs."""
        return self._content.text

    def add(self, pieces: Sequence[Piece]) -> None:
        """Append text; only the lines it touches are drawn again."""
        height = len(self._content.lines)
        first = self._content.add(pieces)
        self._strips = {y: strip for y, strip in self._strips.items() if y < first}
        if len(self._content.lines) != height:
            self.refresh(layout=True)
        else:
            self.refresh(Region(0, first, self.outer_size.width, 1))

    def clear(self) -> None:
        """Begin again with no text."""
        self._content = MarkedLines(self._content.width)
        self._strips = {}
        self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        self._fit(width)
        return len(self._content.lines)

    def on_resize(self, event: Resize) -> None:
        self._fit(self.content_size.width)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips = {}

    def render_line(self, y: int) -> Strip:
        if y >= len(self._content.lines):
            return Strip.blank(self.content_size.width, self.rich_style)
        if y not in self._strips or self.text_selection is not None:
            self._strips[y] = self._strip(y)
        return self._strips[y]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        lines = ("".join(piece.text for piece in line) for line in self._content.lines)
        return selection.extract("\n".join(lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips = {}
        self.refresh()

    def _fit(self, width: int) -> None:
        if width and width != self._content.width:
            self._content.resize(width)
            self._strips = {}

    def _strip(self, y: int) -> Strip:
        segments = [
            Segment(text, self.get_component_rich_style(MARK_CLASSES[mark]))
            for piece in self._content.lines[y]
            for text, mark in runs(piece)
        ]
        strip = Strip(segments)
        selection = self.text_selection
        span = selection.get_span(y) if selection is not None else None
        if span is not None:
            strip = self._selected(strip, *span)
        width = self.content_size.width
        return strip.crop_extend(0, width, self.rich_style).apply_offsets(0, y)

    def _selected(self, strip: Strip, start: int, end: int) -> Strip:
        style = self.screen.get_component_rich_style("screen--selection")
        text = strip.text
        end = len(text) if end == -1 else end
        cells = [Strip([Segment(text[:cut])]).cell_length for cut in (start, end)]
        before, chosen, after = strip.divide([*cells, strip.cell_length]) if text else (strip, strip, strip)
        return Strip.join([before, chosen.apply_style(style), after])
