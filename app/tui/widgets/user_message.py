"""What the person wrote, as it was written."""

from collections.abc import Sequence

from textual.content import Content

from app.shell.printable import one_line, printable
from app.tui.widgets.message import Message


class UserMessage(Message):
    """A prompt in the transcript."""

    def __init__(self, text: str, files: Sequence[str] = (), branch: str = "") -> None:
        notes = [branch] if branch else []
        notes += [f"▤ {one_line(name)}" for name in files]
        parts = [Content(printable(text))]
        if notes:
            parts.append(Content.styled(" · ".join(notes), "dim"))
        super().__init__(Content("\n").join(parts))
        self.text = text
        self.branch = branch
        """`‹2/3›` where there are others; else empty."""
