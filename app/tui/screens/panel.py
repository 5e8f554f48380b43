"""Texts in a frame over the screen below."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from app.tui.screens.opened import OpenedScreen


class Panel(ModalScreen[None], OpenedScreen[None]):
    """`TITLE` is in its frame."""

    def parts(self) -> ComposeResult:
        with VerticalScroll(id="panel"):
            yield from self.texts()

    def texts(self) -> ComposeResult:
        """The widgets that scroll in the frame."""
        yield Static()

    def on_mount(self) -> None:
        view = self.query_one("#panel")
        view.border_title = self.TITLE
        view.focus()
