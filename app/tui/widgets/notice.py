"""A line from the program itself in the transcript: what happened, never what a model said."""

from typing import Literal

from textual.content import Content
from textual.widgets import Static

from app.printable import printable

Kind = Literal["info", "warning", "error"]

SIGNS: dict[Kind, str] = {"info": "·", "warning": "!", "error": "✗"}


class Notice(Static):
    """A sign and a sentence."""

    def __init__(self, text: str, kind: Kind = "info") -> None:
        super().__init__(Content(f"{SIGNS[kind]} {printable(text)}"), classes=f"-{kind}")
        self.text = text
        self.kind: Kind = kind
