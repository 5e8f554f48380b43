"""What the person wrote, as it was written."""

from textual.content import Content
from textual.widgets import Static

from app.printable import printable


class UserMessage(Static):
    """A prompt in the transcript."""

    def __init__(self, text: str) -> None:
        super().__init__(Content(printable(text)))
        self.text = text
