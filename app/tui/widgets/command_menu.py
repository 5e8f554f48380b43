"""The list of what the typed beginning may become: `/` commands, or the files of an `@`."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from app.printable import one_line
from app.tui.slash_commands import SlashCommand


@dataclass(frozen=True, slots=True)
class FileChoice:
    """A path that an `@` may become."""

    path: str


Choice = SlashCommand | FileChoice

NARROW = 60
"""Columns below which commands are listed without their values."""


class CommandMenu(OptionList, can_focus=False):
    """Hidden while there is nothing to complete."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._choices: tuple[Choice, ...] = ()
        self.display = False

    @property
    def is_open(self) -> bool:
        return bool(self._choices)

    @property
    def chosen(self) -> Choice | None:
        return None if self.highlighted is None else self._choices[self.highlighted]

    def offer(self, choices: Sequence[Choice]) -> None:
        """Show these choices; none hides the list."""
        if tuple(choices) == self._choices:
            return
        self._choices = tuple(choices)
        self.clear_options()
        narrow = self.app.size.width < NARROW
        self.add_options(Option(_drawn(choice, narrow=narrow)) for choice in choices)
        self.highlighted = 0 if choices else None
        self.display = bool(choices)


def _drawn(choice: Choice, *, narrow: bool) -> Content:
    if isinstance(choice, FileChoice):
        return Content(one_line(choice.path))
    # What a command does says more than what may follow its name.
    usage = f"/{choice.name:<12} " if narrow else f"{choice.usage:<27} "
    return Content.assemble(usage, (choice.summary, "dim"))
