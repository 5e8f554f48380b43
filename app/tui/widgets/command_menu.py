"""The list of `/` commands that the typed beginning may become."""

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from app.tui.slash_commands import SlashCommand


class CommandMenu(OptionList, can_focus=False):
    """Hidden while there is nothing to complete."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._commands: tuple[SlashCommand, ...] = ()
        self.display = False

    @property
    def is_open(self) -> bool:
        return bool(self._commands)

    @property
    def chosen(self) -> SlashCommand | None:
        return None if self.highlighted is None else self._commands[self.highlighted]

    def offer(self, commands: Sequence[SlashCommand]) -> None:
        """Show these commands; none hides the list."""
        if tuple(commands) == self._commands:
            return
        self._commands = tuple(commands)
        self.clear_options()
        self.add_options(
            Option(Content.assemble(command.usage.ljust(28), (command.summary, "dim")))
            for command in commands
        )
        self.highlighted = 0 if commands else None
        self.display = bool(commands)
