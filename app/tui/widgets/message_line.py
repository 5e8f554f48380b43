"""What the latest action on a screen did, above its keys."""

from textual import events
from textual.visual import VisualType
from textual.widgets import Static


class MessageLine(Static):
    """Toasts are shown above it, however many lines it has."""

    def __init__(self, message: VisualType = "") -> None:
        super().__init__(message, id="message")

    def on_resize(self, event: events.Resize) -> None:
        self.screen.query("ToastRack").set_styles(margin=(0, 0, event.size.height + 1, 0))
