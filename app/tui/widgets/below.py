"""What stands under the transcript: numbers, what waits, the prompt, the state of the chat, the keys."""

import time

from textual.app import ComposeResult
from textual.containers import Vertical

from app.chat.open_chat import OpenChat
from app.shell.printable import one_line
from app.tui.keys.keyed_app import KeyedApp
from app.tui.widgets.figures import status_items
from app.tui.widgets.gauges import Gauges
from app.tui.widgets.key_line import KeyLine
from app.tui.widgets.legend import Legend
from app.tui.widgets.prompt import Prompt
from app.tui.widgets.queue_list import QueueList
from app.tui.widgets.status_line import StatusLine

SHOW_SECONDS = 0.25
"""How often the numbers follow a growing answer: often enough to read. They change together with the text, in
one frame, and not with every piece: either would cost a percent of a core."""


class Below(Vertical):
    """Of what lies apart from the transcript, Textual draws nothing while text streams there."""

    app: KeyedApp

    BLANK = True
    """Textual draws it with each piece of text: nothing is its own."""

    def __init__(self, chat: OpenChat) -> None:
        super().__init__()
        self.prompt = Prompt()
        self.gauges = Gauges()
        self._chat = chat
        self._queue = QueueList()
        self._status = StatusLine()
        self._download = ""
        self._shown_at = 0.0
        self._could_stop = False
        self._is_behind = False
        """Something was not shown because it came too soon after what was."""

    def compose(self) -> ComposeResult:
        yield Legend()
        yield self.gauges
        yield self._queue
        yield self.prompt
        yield self._status
        yield KeyLine()

    def on_mount(self) -> None:
        self.set_interval(SHOW_SECONDS, self._catch_up)

    def show_download(self, text: str) -> None:
        """One item on the downloads that run; empty takes it away."""
        if text != self._download:
            self._download = text
            self.show()

    def show(self, *, at_once: bool = True) -> None:
        """Bring everything up to date; if not `at_once`, then only where it was not just done."""
        if not at_once and time.monotonic() - self._shown_at < SHOW_SECONDS:
            self._is_behind = True
            return
        self._shown_at, self._is_behind = time.monotonic(), False
        chat, area = self._chat, self.prompt.area
        self._show_status()
        if chat.can_stop != self._could_stop:
            self._could_stop = chat.can_stop
            self.screen.refresh_bindings()
        self.gauges.show()
        # Text that grows is sign of life enough, and each blink is a frame.
        area.cursor_blink = chat.running is None
        self.prompt.others_wait = bool(chat.queued)
        self._queue.texts = tuple(waiting.text for waiting in chat.queued)
        title = self.app.keys.told("editing: {chat.stop} leaves it as it was")
        title = title if chat.editing else self.prompt.title
        if title != area.border_title:
            area.border_title = title

    def _show_status(self) -> None:
        chat, link, context = self._chat, self._chat.link, self._chat.context
        self._status.items = status_items(
            one_line(link.pair.name),
            link.state,
            chat.settings,
            (context.tokens, chat.context_limit),
            context.latest,
            len(chat.queued),
            download=self._download,
            stopping=chat.running is not None and chat.running.stopping,
            tuning=link.tuning,
            stop_key=self.app.keys.name("chat.stop"),
            is_counted=context.is_counted,
        )

    def _catch_up(self) -> None:
        """Show the last numbers where the text that would bring newer ones stays away."""
        behind = self._is_behind and self.is_attached
        if behind and time.monotonic() - self._shown_at >= 2 * SHOW_SECONDS:
            self.show()
