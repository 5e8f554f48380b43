"""Messages from the program: toasts, shown as long as reading takes; `/notices` lists them."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from textual.app import App
from textual.notifications import Notification, SeverityLevel

from app.chat.chat_view import Kind
from app.shell.number_text import counted
from app.shell.printable import printable

SEVERITIES: dict[Kind, SeverityLevel] = {
    "info": "information", "mistake": "warning", "warning": "warning", "error": "error"
}  # fmt: skip
SECONDS: dict[Kind, float] = {"info": 4.0, "mistake": 2.0, "warning": 8.0, "error": 20.0}
"""How long a toast stays at least."""
COPIED_SECONDS = 2.0
CHARACTERS_A_SECOND = 15
"""A person's reading speed."""
LEAST_SECONDS = 0.001
"""What a toast stays for even if it is shown when its time is over."""
KEPT = 200
TALL = 18
"""Lines of a terminal in which several toasts have room."""
LEAST_ROOM = 100
"""Characters that a toast counts for at least: the lines around it take room too."""
LONGEST, TOAST = 1500, 400
"""Characters kept and shown: a notice may quote a long pasted text."""


@dataclass(frozen=True, slots=True)
class Notice:
    text: str
    kind: Kind
    when: datetime = field(default_factory=datetime.now)


class ToastNotification(Notification):
    """Its time may end just as a screen shows it. Textual would then wait a negative time: for ever."""

    @property
    def time_left(self) -> float:
        return max(super().time_left, LEAST_SECONDS)

    @property
    def has_expired(self) -> bool:
        return super().time_left <= 0


def show_toast(app: App[Any], text: str, seconds: float, severity: SeverityLevel = "information") -> None:
    """Show a toast of this plain text for `seconds`."""
    toast = ToastNotification(text, severity=severity, timeout=seconds)
    make_room(app, toast)
    # Not `notify`, whose message comes after what the keys behind it clear.
    app._notifications.add(toast)
    app._refresh_notifications()


def make_room(app: App[Any], newest: Notification) -> None:
    """Remove the same toast, and the oldest: in a pile the newest would be out of view, others over the
    prompt.
    """
    room = TOAST - len(newest.message) if app.size.height >= TALL else 0
    for old in [*app._notifications][::-1]:
        room -= max(len(old.message), LEAST_ROOM)
        if room < 0 or old.message == newest.message:
            app._unnotify(old)
    # One that is still being made stays in view, as at the start: Textual finds made ones only.
    app.call_after_refresh(app._refresh_notifications)


def copy(app: App[Any], text: str) -> None:
    """Put a text on the clipboard, and say so."""
    app.copy_to_clipboard(text)
    show_toast(app, f"Copied {counted(len(text), 'character')}.", COPIED_SECONDS)


class Notices:
    def __init__(self) -> None:
        self.kept: deque[Notice] = deque(maxlen=KEPT)
        self._needed_until: dict[Kind, float] = {"warning": 0.0, "error": 0.0}
        """When the last warning and the last error have been read."""

    def add(self, app: App[Any], text: str, kind: Kind = "info", *, seen: bool = False) -> None:
        """Add to the list, and if it was not `seen`, show a toast in place of those that were read."""
        self.kept.append(Notice(shortened(text, LONGEST), kind))
        if seen:
            return
        self.clear_read(app)
        seconds = SECONDS[kind] + min(len(text), TOAST) / CHARACTERS_A_SECOND
        if kind in self._needed_until:
            self._needed_until[kind] = time.monotonic() + seconds
        toast = printable(shortened(text, TOAST))
        show_toast(app, toast, seconds, SEVERITIES[kind])

    def clear_read(self, app: App[Any], unless: Sequence[Kind] = ("warning", "error")) -> None:
        """Remove the toasts, but those of these kinds only when they have been read."""
        now = time.monotonic()
        needed = [SEVERITIES[kind] for kind in unless if now < self._needed_until[kind]]
        for toast in [*app._notifications]:
            if toast.severity not in needed:
                app._unnotify(toast)


def shortened(text: str, longest: int) -> str:
    """A long text without its middle: what happened comes first, what to do last."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} … {len(text) - longest:,} characters … {text[-half:]}"
