"""The first thing that a person sees, once: the built-in pair, real ones for this machine, and the way on."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Key, Paste
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from app.chat.first_run import BUILTIN, Offer, about_offers, offers, remember_first_run
from app.shell.printable import one_line
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.key_line import KeyLine
from models.pairs.catalogue import DEFAULT_PAIR
from models.speed.machine import Machine, this_chip, this_machine

if TYPE_CHECKING:
    from app.tui.app import ChatApp

NARROW = 60
"""Columns below which the rows say what matters most only."""

WAY_ON = "Enter takes it, or just type your first prompt. /welcome shows this again."


class FirstRunScreen(OpenedScreen[str | None]):
    """Gives the name of a real pair to look at; None to go on with the pair in use.

    What is typed here is the first prompt: nothing that a person writes is lost.
    """

    app: "ChatApp"

    HELP = """\
A pair is two models: the large one answers, the small one guesses ahead. Enter on the first row goes on \
with what answers now; on another row it shows that pair, with the key that downloads it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Take it", id="welcome.choose", tooltip="Go on with the chosen pair"),
        Binding("escape", "leave", "Chat", id="welcome.leave",
                tooltip="Chat with the pair in use"),
    ]  # fmt: skip

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="welcome", can_focus=False):
            yield Static(Content.styled("Welcome to mlx-spec", "bold"), id="welcome-title")
            yield Static(Content(BUILTIN))
            yield Static(Content("Looking at what fits this machine…"), id="offers-told")
            yield OptionList(markup=False)
            yield Static(Content(WAY_ON), id="way-on")
        yield KeyLine()

    def on_mount(self) -> None:
        options = self.query_one(OptionList)
        options.add_option(Option(self._first_row(), id=DEFAULT_PAIR))
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
        self.app.chat.prompt.area.insert(text)
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
        name = self.app.link.pair.name
        what = "a demo" if self._is_narrow else "a demonstration"
        about = f"answers at once: {what}" if name == DEFAULT_PAIR else "in use"
        return Content.assemble((one_line(name), "bold"), f"  {about}")

    def _look(self) -> None:
        """On a thread, because asking the machine takes a moment."""
        machine, chip = this_machine(), this_chip()
        self.app.call_from_thread(self._take, machine, offers(machine, chip))
        remember_first_run()

    def _take(self, machine: Machine, found: list[Offer]) -> None:
        if not self.was_closed:
            self.query_one("#offers-told", Static).update(
                Content(about_offers(machine, found, self.app.keys))
            )
            rows = (Option(_row(offer, narrow=self._is_narrow), id=offer.pair.name) for offer in found)
            self.query_one(OptionList).add_options(rows)


def _row(offer: Offer, *, narrow: bool) -> Content:
    speed = offer.short_speed if narrow else offer.speed
    about = f"  {offer.size}  {speed}".rstrip()
    lines = [Content.assemble((one_line(offer.pair.name), "bold"), about)]
    if not narrow:
        lines.append(Content.styled(f"  {one_line(offer.pair.good_for)}", "dim"))
    return Content("\n").join(lines)
