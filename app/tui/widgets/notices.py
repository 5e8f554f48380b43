"""What the program itself says: toasts, as long as reading them takes; `/notices` has them all again."""

import time
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from textual.app import App
from textual.notifications import Notification, Notify, SeverityLevel

from app.chat.chat_view import Kind
from app.shell.printable import printable

SEVERITIES: dict[Kind, SeverityLevel] = {
    "info": "information", "mistake": "warning", "warning": "warning", "error": "error"
}  # fmt: skip
SECONDS: dict[Kind, float] = {"info": 4.0, "mistake": 2.0, "warning": 8.0, "error": 20.0}
"""How long a toast stays at least."""
CHARACTERS_A_SECOND = 15
"""That a person reads."""
LEAST_SECONDS = 0.001
KEPT = 200
LONGEST, TOAST = 1500, 400
"""Characters: a notice may quote what a person pasted."""


@dataclass(frozen=True, slots=True)
class Notice:
    text: str
    kind: Kind
    when: datetime = field(default_factory=datetime.now)


class Toasted(Notification):
    """Where its time ends just as a screen shows it, Textual would wait for less than no time: for ever."""

    @property
    def time_left(self) -> float:
        return max(super().time_left, LEAST_SECONDS)

    @property
    def has_expired(self) -> bool:
        return super().time_left <= 0


def show_toast(app: App[Any], text: str, seconds: float, severity: SeverityLevel = "information") -> None:
    app.post_message(Notify(Toasted(text, severity=severity, timeout=seconds)))


class Notices:
    def __init__(self) -> None:
        self.kept: deque[Notice] = deque(maxlen=KEPT)
        self._needed_until = 0.0
        """When the last warning or error has been read."""

    def keep(self, text: str, kind: Kind = "info") -> None:
        """Without a toast: what it says is on the screen."""
        self.kept.append(Notice(shortened(text, LONGEST), kind))

    def show(self, app: App[Any], text: str, kind: Kind = "info") -> None:
        """Show it in the place of what was read."""
        self.keep(text, kind)
        self.clear_read(app)
        seconds = SECONDS[kind] + min(len(text), TOAST) / CHARACTERS_A_SECOND
        if kind in ("warning", "error"):
            self._needed_until = time.monotonic() + seconds
        toast = printable(shortened(text, TOAST))
        show_toast(app, toast, seconds, SEVERITIES[kind])

    def clear_read(self, app: App[Any]) -> None:
        """Take the toasts away, unless there is a warning or an error that takes longer to read."""
        if time.monotonic() >= self._needed_until:
            app.clear_notifications()


def shortened(text: str, longest: int) -> str:
    """The text without its middle where it is too long: what happened comes first, what to do last."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} … {len(text) - longest:,} characters … {text[-half:]}"
