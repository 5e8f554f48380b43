"""Messages between the screens and the widgets, named after what happened."""

from dataclasses import dataclass

from textual.message import Message

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


class PromptReady(Message):
    """The chat's prompt has the focus for the first time."""


@dataclass
class PromptSubmitted(Message):
    """The person pressed Enter on a prompt or a command."""

    text: str
    at_once: bool = False
    """It replaces the answer in progress."""


@dataclass
class CommandChosen(Message):
    """A command was picked from a list."""

    command: SlashCommand
