"""Messages between the screens and the widgets, named after what happened."""

from dataclasses import dataclass

from textual.message import Message

from app.chat.slash_commands import SlashCommand


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
