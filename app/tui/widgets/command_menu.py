"""The completion menu: `/` commands, or files after an `@`."""

from collections.abc import Sequence
from textwrap import wrap

from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from app.chat.slash_commands import SlashCommand
from app.shell.printable import one_line
from app.tui.widgets.item_list import SafeList

Choice = SlashCommand | str

FRAME = 7
"""Columns of margin, border, padding and scrollbar."""
NARROW = 53
"""Inner width in columns below which commands are listed without their values."""
USAGE = 27
"""Columns of a command with its values."""


class CommandMenu(SafeList, can_focus=False):
    """Hidden while there is nothing to complete."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self._choices: tuple[Choice, ...] = ()
        self._whole: int | None = None
        """Index of the choice shown in full."""
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
        self._whole = None
        self.clear_options()
        self.add_options(Option(self._drawn(choice, whole=False)) for choice in choices)
        self.highlighted = 0 if choices else None
        self.display = bool(choices)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        before, self._whole = self._whole, self.highlighted
        for place in (before, self._whole):
            if place is not None and place < len(self._choices):
                drawn = self._drawn(self._choices[place], whole=place == self._whole)
                self.replace_option_prompt_at_index(place, drawn)
        self.call_after_refresh(self._show_chosen)

    def _show_chosen(self) -> None:
        """All of the chosen one; of one that is taller than the menu, the beginning, which names it."""
        lines = len(str(chosen.prompt).splitlines()) if (chosen := self.highlighted_option) else 0
        self.scroll_to_highlight(top=lines > self.scrollable_content_region.height)

    def _drawn(self, choice: Choice, *, whole: bool) -> Content:
        width = max(1, self.query_ancestor(Vertical).size.width - FRAME)
        if isinstance(choice, str):
            return Content(one_line(choice))
        if width < NARROW and not whole:
            return Content.assemble(f"/{choice.name:<12} ", (choice.summary, "$text-muted"))
        if width < NARROW:
            lines = wrap(choice.summary, width, initial_indent="  ", subsequent_indent="  ")
            return Content.assemble(choice.usage, "\n", ("\n".join(lines), "$text-muted"))
        usage = f"{choice.usage:<{USAGE}} "
        lines = wrap(choice.summary, width, initial_indent=usage, subsequent_indent=" " * (USAGE + 1))
        return Content("\n".join(lines)).stylize("$text-muted", len(usage))
