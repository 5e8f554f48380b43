"""The list of what the typed beginning may become: `/` commands, or the files of an `@`."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap

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

FRAME = 6
"""Columns of margin, border and padding."""
NARROW = 54
"""Columns inside below which commands are listed without their values."""
USAGE = 27
"""Columns of a command with its values."""


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
        self.add_options(Option(_drawn(choice, self.app.size.width - FRAME)) for choice in choices)
        self.highlighted = 0 if choices else None
        self.display = bool(choices)


def _drawn(choice: Choice, width: int) -> Content:
    if isinstance(choice, FileChoice):
        return Content(one_line(choice.path))
    if width < NARROW:
        # What a command does says more than what may follow its name.
        return Content.assemble(f"/{choice.name:<12} ", (choice.summary, "dim"))
    usage = f"{choice.usage:<{USAGE}} "
    lines = wrap(choice.summary, width, initial_indent=usage, subsequent_indent=" " * (USAGE + 1))
    return Content("\n".join(lines)).stylize("dim", len(usage))
