"""A message of the conversation: it shows where the words of a search stand."""

from textual.reactive import reactive
from textual.strip import Strip
from textual.widgets import Static

from app.tui.widgets.found_words import FOUND, strip_with_found


class Message(Static):
    """What prompts and answers have in common."""

    found: reactive[tuple[str, ...]] = reactive(())
    """The words to mark."""

    def render_line(self, y: int) -> Strip:
        line = super().render_line(y)
        if not self.found:
            return line
        return strip_with_found(line, self.found, self.app.stylesheet.parse_style(FOUND).rich_style)
