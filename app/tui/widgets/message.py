"""The messages of the conversation, which show the words of a search."""

from collections.abc import Sequence

from textual.content import Content
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from app.shell.printable import one_line, printable
from app.tui.widgets.found_words import FOUND, strip_with_found


class Message(Widget):
    """A prompt or an answer; `found` are the words to mark."""

    found: reactive[tuple[str, ...]] = reactive(())

    def with_found(self, line: Strip) -> Strip:
        if not self.found:
            return line
        return strip_with_found(line, self.found, self.app.stylesheet.parse_style(FOUND).rich_style)


class UserMessage(Message, Static):
    def __init__(self, text: str, files: Sequence[str] = (), branch: str = "") -> None:
        parts = [Content(printable(text))]
        if notes := [*([branch] if branch else []), *(f"▤ {one_line(name)}" for name in files)]:
            parts.append(Content.styled(" · ".join(notes), "$text-muted"))
        super().__init__(Content("\n").join(parts))
        self.text = text
        self.branch = branch

    def render_line(self, y: int) -> Strip:
        return self.with_found(super().render_line(y))
