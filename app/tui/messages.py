"""Messages between the screens and the widgets, named after what happened."""

from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message
from textual.message_pump import MessagePump

from app.chat.engine_link import PairEvent, RequestEvent
from app.chat.slash_commands import SlashCommand


@dataclass
class PairChanged(Message):
    """Something happened to the pair or to the engine's process."""

    event: PairEvent


@dataclass
class RequestAdvanced(Message, bubble=False):
    """An event of a request, for the screen that made it."""

    event: RequestEvent


def request_poster(screen: MessagePump) -> Callable[[RequestEvent], object]:
    """A callback that posts a request's events to the screen that makes it."""
    return lambda event: screen.post_message(RequestAdvanced(event))


class PromptReady(Message):
    """The chat's prompt has the focus for the first time."""


@dataclass
class PromptSubmitted(Message):
    """The person pressed Enter on a prompt or a command."""

    text: str
    at_once: bool = False
    """It replaces the answer in progress."""


@dataclass
class CopyRequested(Message):
    """A text is wanted on the clipboard."""

    text: str


@dataclass
class CommandChosen(Message):
    """A command was picked from a list."""

    command: SlashCommand
