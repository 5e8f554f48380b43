"""The widgets of messages, which mark the words of a search."""

from textual.content import Content
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from app.history.records import ChatMessage
from app.shell.printable import one_line, printable
from app.tui.widgets.found_words import FOUND, strip_with_found
from app.tui.widgets.item_line import SEPARATOR


class Message(Widget):
    """A prompt or an answer; `found` are the words to mark."""

    found: reactive[tuple[str, ...]] = reactive(())

    def with_found(self, line: Strip) -> Strip:
        if not self.found:
            return line
        return strip_with_found(line, self.found, self.app.stylesheet.parse_style(FOUND).rich_style)


class UserMessage(Message, Static):
    def __init__(self, message: ChatMessage, branch: str = "") -> None:
        parts = [Content(printable(message.text))]
        notes = [branch, *(f"▤ {one_line(file.name)}" for file in message.attachments)]
        if shown := SEPARATOR.join(filter(None, notes)):
            parts.append(Content.styled(shown, "$text-muted"))
        super().__init__(Content("\n").join(parts))
        self.text = message.text
        self.branch = branch

    def render_line(self, y: int) -> Strip:
        return self.with_found(super().render_line(y))
