"""Text selection with the mouse, without three crashes of Textual's."""

from textual.geometry import Offset
from textual.screen import Screen, ScreenResultType
from textual.selection import Selection, SelectState
from textual.widget import Widget

from app.tui.widgets.wrapping import graphemes


class SelectingScreen(Screen[ScreenResultType]):
    """A screen whose text can be selected."""

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """None for a widget that was just removed. Left of a text, the start of that row: Textual counts
        wrapped rows as lines there. It also adds up the cells of an emoji's parts."""
        widget, offset = super().get_widget_and_offset_at(x, y)
        if widget is None or not widget.is_attached:
            return None, None
        if x < (left := widget.content_region.x):
            return super().get_widget_and_offset_at(left, y)
        exact = None if offset is None else self._grapheme_at(widget, x, y)
        return widget, offset if exact is None else exact

    def _grapheme_at(self, widget: Widget, x: int, y: int) -> Offset | None:
        """The first character of the grapheme in this cell, or the last one if a selection ends there."""
        start = self._select_state and self._select_state.start.pointer_start_offset
        is_end = self._selecting and start is not None and (y, x) > (start.y, start.x)
        x, y = x - widget.content_region.x, y - widget.content_region.y
        for segment in widget.render_line(y) if y >= 0 else ():
            meta = segment.style.meta if segment.style else {}
            if x < segment.cell_length and "offset" in meta:
                column, line = meta["offset"]
                for first, end, cells in graphemes(segment.text):
                    if x < cells:
                        return Offset(column + (end - 1 if is_end else first), line)
                    x -= cells
                return None
            x -= segment.cell_length
        return None

    def watch__select_state(self, state: SelectState | None) -> None:
        """Where a drag begins, nothing is selected: the same text again is a new selection, to be copied."""
        if state is not None and state.end is None:
            self.selections = {}

    def validate_selections(self, selections: dict[Widget, Selection]) -> dict[Widget, Selection]:
        """Only what lies in the part where the drag began: not the figures and keys below the messages."""
        if self._select_state is None:
            return selections
        part = self._select_state.start.container
        return {widget: span for widget, span in selections.items() if part in widget.ancestors_with_self}

    def get_selected_text(self) -> str | None:
        """None where a text has become shorter than what was selected of it."""
        try:
            return super().get_selected_text()
        except IndexError:
            return None
