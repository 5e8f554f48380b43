"""The screen of the first start: the pair in use, real pairs for this machine, and the way to the chat."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from app.chat.pair_facts import Facts
from app.shell.expected_speed import SOURCE, why_none, with_range
from app.shell.number_text import rate_text
from app.shell.printable import one_line
from app.tui.keys.keymap import bind
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.sample import sample
from models.pairs.catalogue import BUILTIN_PAIR, REAL_PAIR, all_pairs, find
from models.pairs.installed import installed
from models.size_text import size_text
from models.speed.chips import Chip
from models.speed.fit import fit
from models.speed.machine import Machine, this_chip, this_machine
from models.speed.roofline import expect

BUILTIN = """\
The built-in pair ships with the program and answers at once: two very small models that show how \
drafting works, and know little else."""
OTHER = "The pair in use is {name}, {what}. Larger models know more."

SUGGESTED = 3

NARROW = 60
"""Columns below which the rows have only what matters most."""

SHORT = 24
"""Terminal lines below which the list, to be in view, comes before what is said about it."""

WAY_ON = "Enter takes it, or just type your first prompt. /welcome shows this again."


class FirstRunScreen(OpenedScreen[str | None]):
    """Returns the name of a real pair to show; None to go on with the pair in use.

    Text typed here begins the first prompt.
    """

    HELP = """\
A pair is two models: the large one answers, the small one guesses ahead. Enter on the first row keeps \
the pair in use; on another row it shows that pair, with the key that downloads it."""

    VERTICAL_BREAKPOINTS = [(0, "-short"), (SHORT, "-tall")]

    AUTO_FOCUS = ""
    """The list has it, but would be scrolled to: the first lines come first."""

    BINDINGS = [
        bind("enter", "choose", "Take it", "welcome.choose", "Go on with the chosen pair"),
        bind("pagedown", "more", "More", "welcome.more",
             "Scroll the text; at its end, to its beginning", priority=True),
        bind("escape", "dismiss", "Chat", "welcome.leave", "Chat with the pair in use"),
    ]  # fmt: skip

    def parts(self) -> ComposeResult:
        with VerticalScroll(id="welcome", can_focus=False):
            yield Static(Content.styled("Welcome to mlx-spec", "bold $text-accent"), id="welcome-title")
            yield Static(sample(), id="welcome-sample")
            yield Static(Content(self._about()))
            about = Static(Content("Looking at what fits this machine…"), id="suggestions")
            fitting = [about, OptionList(markup=False)]
            yield from reversed(fitting) if self.app.size.height < SHORT else fitting
            yield Static(Content(WAY_ON), id="way-on")

    def on_mount(self) -> None:
        name, demo = self.app.link.pair.name, "a demo" if self._is_narrow else "a demonstration"
        about = f"answers at once: {demo}" if name == BUILTIN_PAIR else "in use"
        options = self.query_one(OptionList)
        options.add_option(Content.assemble((one_line(name), "bold"), f"  {about}"))
        options.highlighted = 0
        options.focus(scroll_visible=False)
        self.run_worker(self._look, thread=True)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    @property
    def _is_narrow(self) -> bool:
        return self.app.size.width < NARROW

    def _about(self) -> str:
        """A text on the pair in use: the built-in one, or the real one once it was pulled."""
        if self.app.link.pair.name != REAL_PAIR:
            return BUILTIN
        return OTHER.format(name=REAL_PAIR, what=find(REAL_PAIR).good_for)

    def _look(self) -> None:
        """On a thread, because asking the machine takes a moment."""
        machine, chip = this_machine(), this_chip()
        found = [facts for facts in suggestions(machine, chip) if facts.pair.name != self.app.link.pair.name]
        self.from_thread(self._show, machine, found)

    def _show(self, machine: Machine, found: list[Facts]) -> None:
        about = self.app.keys.fill_in(about_suggestions(machine, found))
        self.query_one("#suggestions", Static).update(Content(about))
        rows = (Option(_row(facts, narrow=self._is_narrow), id=facts.pair.name) for facts in found)
        self.query_one(OptionList).add_options(rows)
        self.call_after_refresh(self.refresh_bindings)  # more text may need to be scrolled


def suggestions(machine: Machine, chip: Chip | None) -> list[Facts]:
    """The smallest and the largest real pairs that fit, small ones first; unverified ones only with a draft
    model."""
    real = (p for p in all_pairs() if p.download_bytes and not p.own and (p.draft or p.verified))
    real = sorted(real, key=lambda p: p.memory_bytes)
    fitting = [pair for pair in real if fit(pair, machine).verdict == "fits"]
    chosen = fitting if len(fitting) <= SUGGESTED else [fitting[0], *fitting[1 - SUGGESTED :]]
    return [Facts(p, installed(p.spec), expected=expect(p, chip) if chip else None) for p in chosen]


def about_suggestions(machine: Machine, found: list[Facts]) -> str:
    """The line above the suggestions: the machine's memory, the speeds' source; keys as `{app.pairs}`."""
    memory = size_text(machine.memory_bytes)
    if not found:
        return f"No real pair fits this machine, where models may use {memory}. {{app.pairs}} says why."
    speeds = f"Speeds are {SOURCE}." if any(one.expected for one in found) else why_none()
    return f"These real pairs fit here, where models may use {memory}. {speeds}"


def _row(facts: Facts, *, narrow: bool) -> Content:
    pair, expected, speed = facts.pair, facts.expected, ""
    if expected is not None:
        drafted = with_range(expected.drafted, expected.drafted_range)
        plain = with_range(expected.plain, expected.plain_range)
        long = f"about {drafted} tok/s drafted, {plain} plain" if pair.draft else f"about {plain} tok/s plain"
        speed = f"{rate_text(expected.drafted)} tok/s" if narrow else long
    size = "here already" if facts.installed else size_text(pair.download_bytes)
    line = Content.assemble((one_line(pair.name), "bold"), f"  {size}  {speed}".rstrip())
    return line if narrow else line + Content.styled(f"\n  {one_line(pair.good_for)}", "$text-muted")
