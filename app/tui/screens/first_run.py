"""The screen of the first start: the built-in pair, real ones for this machine, and the way to the chat."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Key, Paste
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from app.chat.first_run import BUILTIN, Suggestion, about_suggestions, remember_first_run, suggestions
from app.shell.printable import one_line
from app.tui.keys.in_force import Keys
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.key_line import KeyLine
from models.pairs.catalogue import BUILTIN_PAIR
from models.speed.machine import Machine, this_chip, this_machine

NARROW = 60
"""Columns below which the rows have only what matters most."""

WAY_ON = "Enter takes it, or just type your first prompt. /welcome shows this again."


class FirstRunScreen(OpenedScreen[str | None]):
    """Gives the name of a real pair to look at; None to go on with the pair in use.

    What is typed here begins the first prompt.
    """

    HELP = """\
A pair is two models: the large one answers, the small one guesses ahead. Enter on the first row goes on \
with what answers now; on another row it shows that pair, with the key that downloads it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Take it", id="welcome.choose", tooltip="Go on with the chosen pair"),
        Binding("escape", "leave", "Chat", id="welcome.leave",
                tooltip="Chat with the pair in use"),
    ]  # fmt: skip

    def __init__(self, in_use: str, keys: Keys, write_prompt: Callable[[str], object]) -> None:
        """`in_use`: the pair's name. `write_prompt` adds text to the chat's prompt."""
        super().__init__()
        self._in_use = in_use
        self._keys = keys
        self._write_prompt = write_prompt

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="welcome", can_focus=False):
            yield Static(Content.styled("Welcome to mlx-spec", "bold"), id="welcome-title")
            yield Static(Content(BUILTIN))
            yield Static(Content("Looking at what fits this machine…"), id="suggestions")
            yield OptionList(markup=False)
            yield Static(Content(WAY_ON), id="way-on")
        yield KeyLine()

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.add_option(Option(self._first_row(), id=BUILTIN_PAIR))
        options.highlighted = 0
        options.focus()
        self.run_worker(self._look, thread=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id if event.option_index else None)

    def hand_on(self, event: Key | Paste) -> bool:
        """Put what was typed or pasted into the prompt and close; False for a key that is no text."""
        text = event.text if isinstance(event, Paste) else event.character if event.is_printable else None
        if text is None:
            return False
        self._write_prompt(text)
        self.dismiss(None)
        return True

    def action_choose(self) -> None:
        self.query_one(OptionList).action_select()

    def action_leave(self) -> None:
        self.dismiss(None)

    @property
    def _is_narrow(self) -> bool:
        return self.app.size.width < NARROW

    def _first_row(self) -> Content:
        what = "a demo" if self._is_narrow else "a demonstration"
        about = f"answers at once: {what}" if self._in_use == BUILTIN_PAIR else "in use"
        return Content.assemble((one_line(self._in_use), "bold"), f"  {about}")

    def _look(self) -> None:
        """On a thread, because asking the machine takes a moment."""
        machine, chip = this_machine(), this_chip()
        self.from_thread(self._show, machine, suggestions(machine, chip))
        remember_first_run()

    def _show(self, machine: Machine, found: list[Suggestion]) -> None:
        about = self._keys.fill_in(about_suggestions(machine, found))
        self.query_one("#suggestions", Static).update(Content(about))
        rows = (Option(_row(one, narrow=self._is_narrow), id=one.pair.name) for one in found)
        self.query_one(OptionList).add_options(rows)


def _row(one: Suggestion, *, narrow: bool) -> Content:
    speed = one.short_speed if narrow else one.speed
    lines = [Content.assemble((one_line(one.pair.name), "bold"), f"  {one.size}  {speed}".rstrip())]
    if not narrow:
        lines.append(Content.styled(f"  {one_line(one.pair.good_for)}", "dim"))
    return Content("\n").join(lines)
