"""Messages between the screens and the widgets, named after what happened."""

from dataclasses import dataclass

from textual.message import Message

from app.chat.slash_commands import SlashCommand


class PromptReady(Message):
    """The chat's prompt has the focus for the first time."""


@dataclass
class CommandChosen(Message):
    """A command was picked in the palette."""

    command: SlashCommand
