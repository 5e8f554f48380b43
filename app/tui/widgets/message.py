"""The messages of the conversation, which show the words of a search, and lines from the program itself."""

from collections.abc import Sequence

from textual.content import Content
from textual.reactive import reactive
from textual.strip import Strip
from textual.widgets import Static

from app.chat.open_chat import Kind
from app.shell.printable import one_line, printable
from app.tui.widgets.found_words import FOUND, strip_with_found

SIGNS: dict[Kind, str] = {"info": "·", "warning": "!", "error": "✗"}

LONGEST = 1500
"""Characters: a notice may quote what a person pasted."""


class Message(Static):
    """A prompt or an answer; `found` are the words to mark."""

    found: reactive[tuple[str, ...]] = reactive(())

    def render_line(self, y: int) -> Strip:
        line = super().render_line(y)
        if not self.found:
            return line
        return strip_with_found(line, self.found, self.app.stylesheet.parse_style(FOUND).rich_style)


class UserMessage(Message):
    def __init__(self, text: str, files: Sequence[str] = (), branch: str = "") -> None:
        parts = [Content(printable(text))]
        if notes := [*([branch] if branch else []), *(f"▤ {one_line(name)}" for name in files)]:
            parts.append(Content.styled(" · ".join(notes), "dim"))
        super().__init__(Content("\n").join(parts))
        self.text = text
        self.branch = branch


class Notice(Static):
    """What happened, never a model's text."""

    def __init__(self, text: str, kind: Kind = "info") -> None:
        super().__init__(Content(f"{SIGNS[kind]} {printable(text)}"), classes=f"-{kind}")
        self.text = text
        self.kind = kind


def shortened(text: str) -> str:
    """The text without its middle where it is too long: what happened comes first, what to do last."""
    if len(text) <= LONGEST:
        return text
    half = LONGEST // 2
    return f"{text[:half]} … {len(text) - LONGEST:,} characters … {text[-half:]}"
