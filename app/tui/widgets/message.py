"""The widgets of messages, which mark the words of a search."""

from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Static

from app.history.records import ChatMessage
from app.shell.printable import one_line, printable
from app.tui.widgets.found_words import with_found
from app.tui.widgets.item_line import SEPARATOR


class Message(Widget):
    """A prompt or an answer; `found` are the words to mark."""

    found: reactive[tuple[str, ...]] = reactive((), init=False)

    def first_found(self) -> int:
        """The first line with a marked word; 0 if there is none."""
        lines = enumerate(self.render_lines(self.size.region))
        return next((y for y, line in lines if any(s.style and s.style.underline for s in line)), 0)

    def place_at(self, line: float) -> float:
        """What a line shows, as a number that is the same at every width: the share of lines above it."""
        return line / self.virtual_region.height

    def line_at(self, place: float) -> float:
        return round(place * self.virtual_region.height)


class UserMessage(Message, Static):
    def __init__(self, message: ChatMessage, branch: str = "") -> None:
        parts = [Content(printable(message.text))]
        notes = [branch, *(f"▤ {one_line(file.name)}" for file in message.attachments)]
        if shown := SEPARATOR.join(filter(None, notes)):
            parts.append(Content.styled(shown, "$text-muted"))
        self._shown = Content("\n").join(parts)
        super().__init__(self._shown)
        self.text = message.text
        self.branch = branch

    def watch_found(self) -> None:
        self.update(with_found(self._shown, self.found))
