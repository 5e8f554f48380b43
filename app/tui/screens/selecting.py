"""Text selection with the mouse, without three crashes of Textual's."""

from textual.geometry import Offset
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget


class SelectingScreen(Screen[ScreenResultType]):
    """A screen whose text can be selected."""

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """None for a widget that was just removed. Left of a text, the start of that row: Textual counts
        wrapped rows as lines there."""
        widget, offset = super().get_widget_and_offset_at(x, y)
        if widget is None or not widget.is_attached:
            return None, None
        if x < (left := widget.content_region.x):
            return super().get_widget_and_offset_at(left, y)
        return widget, offset

    def get_selected_text(self) -> str | None:
        """None where a text has become shorter than what was selected of it."""
        try:
            return super().get_selected_text()
        except IndexError:
            return None
