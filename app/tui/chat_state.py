"""Where the chat stands: the status line, what waits, and what the prompt's frame says."""

import time
from typing import TYPE_CHECKING

from app.chat.context_in_use import context_in_use
from app.engine.events import PrefillProgressed, TextAdded, TurnEnded, TurnEvent
from app.shell.printable import one_line
from app.tui.figures import status_items
from app.tui.widgets.gauges import Gauges
from app.tui.widgets.queue_list import QueueList
from app.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from app.tui.screens.chat import ChatScreen

STATE_SECONDS = 0.25
"""How often the numbers follow a growing answer: often enough to read. They change together with the text, in
one frame, and not with every piece: either would cost a percent of a core."""


class ChatState:
    """Keeps the numbers of the last event and shows them, for the chat screen it belongs to."""

    def __init__(self, chat: "ChatScreen") -> None:
        self._chat = chat
        self._numbers: PrefillProgressed | TextAdded | TurnEnded | None = None
        self._context = 0
        """Tokens in use, those of a growing answer left out."""
        self._is_counted = True
        """The engine counted them; without that they are guessed by the texts' length."""
        self._download = ""
        self._shown_at = 0.0
        self._could_stop = False
        self._is_behind = False
        """Something was not shown because it came too soon after what was."""

    def restart(self) -> None:
        """Another chat is in view."""
        self._numbers = None
        self.count_context()

    def count_context(self) -> None:
        """The branch in view is another one, or the pair that is to read it."""
        self._numbers = None
        chat = self._chat
        self._context, self._is_counted = context_in_use(chat.conversation, chat.link.pair.name)

    def take(self, event: TurnEvent | None) -> None:
        """Keep an event's numbers; None: an answer begins."""
        match event:
            case PrefillProgressed(total=total):
                self._context, self._is_counted = total, True
            case TurnEnded(stats=stats):
                self._context, self._is_counted = stats.prompt_tokens + stats.tokens, True
            case TextAdded() | None:
                pass
            case _:
                return
        self._numbers = event

    def take_download(self, text: str) -> None:
        """One item on the downloads that run; empty takes it away."""
        if text != self._download:
            self._download = text
            self.show()

    def catch_up(self) -> None:
        """Show the last numbers where the text that would bring newer ones stays away."""
        behind = self._is_behind and self._chat.is_attached
        if behind and time.monotonic() - self._shown_at >= 2 * STATE_SECONDS:
            self.show()

    def show(self, *, at_once: bool = True) -> None:
        """Bring the screen up to date; if not `at_once`, then only where it was not just done."""
        if not at_once and time.monotonic() - self._shown_at < STATE_SECONDS:
            self._is_behind = True
            return
        self._shown_at, self._is_behind = time.monotonic(), False
        chat, link, answering = self._chat, self._chat.link, self._chat.answering
        context = self._context
        if isinstance(self._numbers, TextAdded):
            context += self._numbers.tokens
        chat.query_one(StatusLine).items = status_items(
            one_line(link.pair.name),
            link.state,
            chat.settings,
            (context, chat.context_limit),
            self._numbers,
            len(answering.queued),
            download=self._download,
            stopping=answering.running is not None and answering.running.stopping,
            tuning=link.tuning,
            stop_key=chat.app.keys.name("chat.stop"),
            is_counted=self._is_counted,
        )
        if chat.can_stop != self._could_stop:
            self._could_stop = chat.can_stop
            chat.refresh_bindings()
        chat.query_one(Gauges).show()
        # Text that grows is sign of life enough, and each blink is a frame.
        chat.prompt.area.cursor_blink = chat.running is None
        chat.prompt.others_wait = bool(answering.queued)
        chat.query_one(QueueList).texts = tuple(waiting.text for waiting in answering.queued)
        title = chat.app.keys.told("editing: {chat.stop} leaves it as it was")
        title = title if chat.editing else chat.prompt.told
        if title != chat.prompt.area.border_title:
            chat.prompt.area.border_title = title
