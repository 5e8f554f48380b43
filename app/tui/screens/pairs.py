"""F2: the pairs there are, what they need and do here; getting, using and removing one."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from app.chat.pair_facts import Facts, all_facts, details, first_facts, matches
from app.chat.pair_removal import Ask, remove_after_asking
from app.chat.pull_queue import PullJob, PullQueue
from app.compare.store import last_speeds
from app.shell.pull_text import warning
from app.tui.keys.in_force import Keys
from app.tui.screens.opened import OpenedScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.widgets.download_list import DownloadList, outcome
from app.tui.widgets.item_list import ItemList
from app.tui.widgets.key_line import KeyLine
from app.tui.widgets.pair_rows import header, row, state
from models.pairs.catalogue import Pair, all_pairs
from models.pairs.installed import installed
from models.pairs.pair import PairSpec
from models.size_text import size_text
from models.speed.machine import this_chip, this_machine

WATCH_SECONDS = 0.25
HINT = """\
Enter uses a pair, or downloads it first. {pairs.filter} filters, {pairs.own} adds a pair of your own. \
? is not verified."""


class PairsScreen(OpenedScreen[Pair | None]):
    """Gives the pair to use, or None. Downloads go on when the screen is left."""

    HELP = "Pairs of models: the large one answers, the small one guesses ahead."

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Use or pull", id="pairs.choose",
                tooltip="Use the pair, or download it first"),
        Binding("space", "more", "More", id="pairs.more",
                tooltip="Scroll the facts about the pair; from their end back to their beginning"),
        Binding("slash", "filter", "Filter", id="pairs.filter",
                tooltip="Show only pairs with these words: a name, a licence, installed, fits, ..."),
        Binding("c", "cancel_pull", "Cancel", id="pairs.cancel",
                tooltip="Stop or give up the pair's download, or the one that runs; what came is kept"),
        Binding("r", "retry", "Resume", id="pairs.retry",
                tooltip="Go on with the pair's download, or with all that were paused or failed"),
        Binding("x,delete", "remove", "Remove", id="pairs.remove",
                tooltip="Delete the pair's files, after asking"),
        Binding("a", "add_own", "Own pair", id="pairs.own",
                tooltip="Put a pair together from two repositories or folders"),
        Binding("escape", "back", "Back", id="pairs.back",
                tooltip="Close the filter; then back to the chat"),
    ]  # fmt: skip

    def __init__(
        self, in_use: PairSpec, pulls: PullQueue, keys: Keys, ask: Ask, chosen: str | None = None
    ) -> None:
        """`chosen`: the pair that is highlighted first; the one in use without it."""
        super().__init__()
        self._in_use = in_use
        self._pulls = pulls
        self._keys = keys
        self._ask = ask
        self._highlight = chosen or in_use.name
        self.hint = keys.fill_in(HINT)
        """What can be done here."""
        self.facts = {pair.name: first_facts(pair) for pair in all_pairs()}
        """By name. The slow part is filled in on a thread."""
        self._on_their_way: set[PullJob] = set()
        """Downloads whose end has not been shown here."""
        self._details = Static()
        """Held, not looked up: a row is also highlighted while the screen is being taken down."""
        self._details_view = VerticalScroll(self._details, id="pair-details", can_focus=False)

    def compose(self) -> ComposeResult:
        yield Input(
            placeholder="Filter: name, licence, installed, fits, ...", compact=True, id="pairs-filter"
        )
        yield Static(id="pairs-header")
        yield ItemList(markup=False)
        yield self._details_view
        yield DownloadList(id="downloads")
        yield Static(Content(self.hint), id="pull-line")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(Input).display = False
        self.show_list(self._highlight)
        self.query_one(OptionList).focus()
        self.look_again()
        self.every(WATCH_SECONDS, self.show_downloads)
        self.show_downloads()

    def on_resize(self) -> None:
        self.show_list()

    @property
    def chosen(self) -> Pair | None:
        """The highlighted pair."""
        option = self.query_one(OptionList).highlighted_option
        facts = self.facts.get(option.id) if option is not None and option.id else None
        return facts.pair if facts else None

    @property
    def _chosen_spec(self) -> PairSpec | None:
        return self.chosen.spec if self.chosen else None

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_id:
            self._details.update(Content(details(self.facts[event.option_id])))
            self._details_view.scroll_home(animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self.asks or not self.is_active:
            return  # a second Enter in one read
        assert event.option_id is not None, "every row has its pair's name"
        pair = self.facts[event.option_id].pair
        if installed(pair.spec):
            self.dismiss(pair)
        elif (job := self._pulls.of(pair.spec)) and job.unfinished:
            self.show_message(
                f"{pair.name} is being downloaded. {self._keys.name('pairs.cancel')} cancels it."
            )
        elif pair.target.is_folder:
            self.show_message(f"The files of {pair.name} are missing or broken: {pair.target}, {pair.draft}.")
        else:
            self.ask_once(self._pull(pair))

    def on_input_changed(self, event: Input.Changed) -> None:
        self.show_list()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.query_one(OptionList).focus()

    def action_choose(self) -> None:
        self.query_one(OptionList).action_select()

    def action_more(self) -> None:
        view = self._details_view
        if view.scroll_y < view.max_scroll_y:
            view.scroll_page_down(animate=False)
        else:
            view.scroll_home(animate=False)

    def action_filter(self) -> None:
        self.query_one(Input).display = True
        self.query_one(Input).focus()

    def action_back(self) -> None:
        words = self.query_one(Input)
        if words.display:
            words.display = False
            words.value = ""
            self.query_one(OptionList).focus()
        else:
            self.dismiss(None)

    def action_cancel_pull(self) -> None:
        if (job := self._pulls.cancel(self._chosen_spec)) is not None:
            self.show_message(f"Cancelling {job.pair.name}…" if job.state == "running" else self.hint)
        self.show_downloads()

    def action_retry(self) -> None:
        self.show_message(self.hint)
        self._pulls.resume(self._chosen_spec)
        self.show_downloads()

    def action_add_own(self) -> None:
        if self.is_active:
            self.app.push_screen(OwnPairScreen(self._keys), self._add_own)

    def action_remove(self) -> None:
        if (pair := self.chosen) is not None:
            self.ask_once(self._remove(pair))

    def show_message(self, text: str) -> None:
        """A sentence under the list."""
        self.query_one("#pull-line", Static).update(Content(text))

    def show_downloads(self) -> None:
        """Show how far the downloads are."""
        self.query_one(DownloadList).show(self._pulls.not_here, self._chosen_spec, self._keys)
        for job in self._pulls.jobs:
            if job.unfinished:
                self._on_their_way.add(job)
                self._show_row(job.pair.name)
            elif job in self._on_their_way:
                self._on_their_way.remove(job)
                # Why one failed is in its own line, as long as that is there.
                self.show_message(outcome(job, self._keys) if job.state == "done" else self.hint)
                self._show_row(job.pair.name)
                self.look_again()

    def look_again(self) -> None:
        """Ask the disk and the machine about every pair; the rows follow when the answer is there."""
        self.run_worker(self._look, thread=True, exclusive=True)

    def show_list(self, highlight: str | None = None) -> None:
        """The rows that the filter leaves."""
        chosen = highlight or (self.chosen.name if self.chosen else None)
        width, words = self.app.size.width, self.query_one(Input).value
        names = [name for name, facts in self.facts.items() if matches(facts, words)]
        self.query_one("#pairs-header", Static).update(
            Content.styled(header(width=width, predicts=self._predicts), "bold")
        )
        options = self.query_one(OptionList).clear_options()
        options.add_options(Option(self._row(name), id=name) for name in names)
        if names:
            options.highlighted = names.index(chosen) if chosen in names else 0
        else:
            nothing = self._keys.fill_in("No pair has these words. {pairs.back} shows all.")
            self._details.update(Content(nothing))

    @property
    def _predicts(self) -> bool:
        """There is room for a column of predicted speeds, and something to put there."""
        return self.app.size.width >= 100 and any(facts.expected for facts in self.facts.values())

    def _row(self, name: str) -> Content:
        facts = self.facts[name]
        here = state(facts, self._pulls.of(facts.pair.spec), in_use=name == self._in_use.name)
        return Content(row(facts, here, width=self.app.size.width, predicts=self._predicts))

    def _show_row(self, name: str) -> None:
        options = self.query_one(OptionList)
        if any(option.id == name for option in options.options):
            options.replace_option_prompt(name, self._row(name))

    async def _pull(self, pair: Pair) -> None:
        fit = self.facts[pair.name].fit
        question = f"Download {pair.name}? {size_text(pair.download_bytes)} come from the Hub."
        if fit is not None:
            question = f"{question} {warning(fit)}".rstrip()
        if await self._ask(question, "Download", "Not now"):
            self._pulls.add(pair.spec)
            self.show_downloads()

    async def _remove(self, pair: Pair) -> None:
        self.show_message(await remove_after_asking(pair, self._in_use, self._pulls, self._ask))
        self.look_again()

    def _add_own(self, pair: Pair | None) -> None:
        if pair is not None:
            self.facts[pair.name] = first_facts(pair)
            self.show_list(pair.name)
            self.look_again()
            self.show_message(
                f"{pair.name} was added: its models belong together. Enter uses it or downloads it."
            )

    def _look(self) -> None:
        machine, chip, measured = this_machine(), this_chip(), last_speeds()
        found = {
            pair.name: all_facts(pair, machine, chip, measured.get(pair.name, "")) for pair in all_pairs()
        }
        self.from_thread(self._show_facts, found)

    def _show_facts(self, facts: dict[str, Facts]) -> None:
        self.facts = facts
        self.show_list()
