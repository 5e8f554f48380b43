"""The conversation, oldest at the top. Follows the end until the person scrolls away from it."""

from textual.containers import VerticalScroll
from textual.widget import Widget

from app.tui.widgets.notice import Kind, Notice


class Transcript(VerticalScroll, can_focus=False):
    """Holds one widget per message. What is typed always goes to the prompt."""

    def on_mount(self) -> None:
        self.anchor()

    def update_node_styles(self, animate: bool = True) -> None:
        """Nothing below depends on this container's focus; walking all messages for it costs seconds."""

    def show(self, widget: Widget) -> None:
        """Append a message."""
        self.mount(widget)

    def note(self, text: str, kind: Kind = "info") -> None:
        """Append a line from the program."""
        self.show(Notice(text, kind))
