"""The completion menu: `/` commands, or files after an `@`."""

from collections.abc import Sequence
from textwrap import wrap

from textual.containers import Vertical
from textual.content import Content
from textual.widgets.option_list import Option

from app.chat.slash_commands import SlashCommand
from app.shell.printable import one_line
from app.tui.widgets.item_list import ItemList

Choice = SlashCommand | str

FRAME = 7
"""Columns of margin, border, padding and scrollbar."""
NARROW = 53
"""Inner width in columns below which a command's summary is below it."""
USAGE = 27
"""Columns of a command with its values."""


class CommandMenu(ItemList, can_focus=False):
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
        if tuple(choices) == self._choices:
            return
        self._choices = tuple(choices)
        self.clear_options()
        self.add_options(Option(self._drawn(choice)) for choice in choices)
        self.highlighted = 0 if choices else None
        self.display = bool(choices)

    def _drawn(self, choice: Choice) -> Content:
        width = self.query_ancestor(Vertical).size.width - FRAME
        if isinstance(choice, str):
            return Content(one_line(choice))
        if width < NARROW:
            lines = wrap(choice.summary, width, initial_indent="  ", subsequent_indent="  ")
            return Content.assemble(choice.usage, "\n", ("\n".join(lines), "$text-muted"))
        usage = f"{choice.usage:<{USAGE}} "
        lines = wrap(choice.summary, width, initial_indent=usage, subsequent_indent=" " * (USAGE + 1))
        return Content("\n".join(lines)).stylize("$text-muted", len(usage))
