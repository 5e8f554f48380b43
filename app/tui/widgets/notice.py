"""A line from the program itself in the transcript: what happened, never a model's text."""

from textual.content import Content
from textual.widgets import Static

from app.chat.chat_view import Kind
from app.shell.printable import printable

SIGNS: dict[Kind, str] = {"info": "·", "warning": "!", "error": "✗"}

LONGEST = 1500
"""Characters: a notice may quote what a person pasted."""


def shortened(text: str) -> str:
    """The text without its middle where it is too long: what happened comes first, what to do last."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} … {len(text) - LONGEST:,} characters … {text[-half:]}"


class Notice(Static):
    def __init__(self, text: str, kind: Kind = "info") -> None:
        super().__init__(Content(f"{SIGNS[kind]} {printable(text)}"), classes=f"-{kind}")
        self.text = text
        self.kind = kind
