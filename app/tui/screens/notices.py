"""`/notices`: the program's messages since its start."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from app.chat.chat_view import Kind
from app.shell.printable import printable
from app.tui.keys.keymap import bind
from app.tui.screens.panel import Panel
from app.tui.widgets.notices import Notice

STYLES: dict[Kind, str] = {"info": "", "mistake": "", "warning": "$text-warning", "error": "bold $text-error"}


class NoticesScreen(Panel):
    TITLE = "Notices"
    HELP = "Messages from the program since it was started, newest last."

    BINDINGS = [bind("escape,q", "dismiss", "Close", "notices.close", "Close this list")]

    def __init__(self, notices: Sequence[Notice]) -> None:
        super().__init__()
        self._notices = notices

    def texts(self) -> ComposeResult:
        for notice in self._notices:
            when = (f"{notice.when:%H:%M:%S}  ", "$text-muted")
            yield Static(Content.assemble(when, (printable(notice.text), STYLES[notice.kind])))
        if not self._notices:
            yield Static(Content("No messages yet."))

    def on_mount(self) -> None:
        self.app.clear_notifications()  # they would lie over the list, which has them
        self.query_one("#panel").scroll_end(animate=False)
