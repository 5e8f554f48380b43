"""What happened, as messages between the screens and the widgets."""

from collections.abc import Callable

from textual.message import Message
from textual.message_pump import MessagePump

from app.chat.engine_link import PairEvent, RequestEvent
from app.compare.record import Record


class PairChanged(Message):
    """Something happened to the pair or to the engine's process."""

    def __init__(self, event: PairEvent) -> None:
        super().__init__()
        self.event = event


class RequestAdvanced(Message, bubble=False):
    """Something came of a request, for the screen that made it."""

    def __init__(self, event: RequestEvent) -> None:
        super().__init__()
        self.event = event


def request_poster(screen: MessagePump) -> Callable[[RequestEvent], object]:
    """Posts what comes of a request to the screen that makes it."""
    return lambda event: screen.post_message(RequestAdvanced(event))


class PromptReady(Message):
    """The chat's prompt has the focus for the first time."""


class PromptSubmitted(Message):
    """The person pressed Enter on a prompt or a command."""

    def __init__(self, text: str, *, at_once: bool = False) -> None:
        super().__init__()
        self.text = text
        self.at_once = at_once
        """It takes the place of the answer in progress."""


class CommandChosen(Message):
    """A command was picked from the completion list."""

    def __init__(self, name: str, *, takes_value: bool) -> None:
        super().__init__()
        self.name = name
        self.takes_value = takes_value


class ComparisonEnded(Message):
    """A comparison ran to its end; the text sums it up in one line."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class ComparisonChosen(Message):
    """A kept comparison was picked from their list, to be shown."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record
