"""A line from the program itself in the transcript: what happened, never what a model said."""

from textual.content import Content
from textual.widgets import Static

from app.chat.chat_view import Kind
from app.shell.printable import printable

SIGNS: dict[Kind, str] = {"info": "·", "warning": "!", "error": "✗"}


LONGEST = 1500
"""Characters of a line. What a person typed or pasted stands in it, and that may be a whole book."""


def shortened(text: str) -> str:
    """The text without its middle where it is too long: what happened comes first, what to do last."""
    if len(text) <= LONGEST:
        return text
    left_out = len(text) - LONGEST
    return f"{text[: LONGEST // 2]} … {left_out:,} characters … {text[-(LONGEST // 2) :]}"


class Notice(Static):
    """A sign and a sentence."""

    def __init__(self, text: str, kind: Kind = "info") -> None:
        super().__init__(Content(f"{SIGNS[kind]} {printable(text)}"), classes=f"-{kind}")
        self.text = text
        self.kind: Kind = kind
