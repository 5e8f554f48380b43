"""F2: the pairs there are, what they need and do here; getting, using and removing one."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from app.tui.last_speeds import last_speeds
from app.tui.pair_facts import Facts, details, download_line, header, in_order, matches, outcome, row
from app.tui.pair_removal import remove_after_asking
from app.tui.pull_queue import PullJob
from app.tui.screens.opened import OpenedScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.question import QuestionScreen
from app.tui.widgets.item_list import ItemList
from app.tui.widgets.key_line import KeyLine
from models.pairs.catalogue import Pair, all_pairs
from models.pairs.installed import find_folder, installed
from models.size_text import size_text
from models.speed.fit import fit
from models.speed.machine import this_chip, this_machine
from models.speed.roofline import expect

if TYPE_CHECKING:
    from app.tui.app import ChatApp

WATCH_SECONDS = 0.25
HINT = """\
Enter uses a pair, or downloads it first. {pairs.filter} filters, {pairs.own} adds a pair of your own. \
? is not verified."""


class PairsScreen(OpenedScreen[Pair | None]):
    """Gives the pair to use, or None. Downloads go on when the screen is left."""

    app: "ChatApp"

    HELP = "Pairs of models: the large one answers, the small one guesses ahead."

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Use or pull", id="pairs.choose",
                tooltip="Use the pair, or download it first"),
        Binding("space", "more", "More", id="pairs.more",
                tooltip="Scroll what is said about the pair; from its end back to its beginning"),
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

    def __init__(self, current: str, chosen: str | None = None) -> None:
        """`chosen`: the pair that is highlighted first; the one in use without it."""
        super().__init__()
        self.current = current
        self._highlight = chosen or current
        self.facts = {pair.name: Facts(pair, installed(pair.spec), 0) for pair in all_pairs()}
        """By name. The slow part is filled in on a thread."""
        self._on_their_way: set[PullJob] = set()
        """Downloads whose end has not been said here."""
        self._removing = False
        """A pair is being removed, or the person asked about it."""
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
        yield Static(id="downloads")
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
    def hint(self) -> str:
        """What can be done here."""
        return self.app.keys.told(HINT)

    @property
    def chosen(self) -> Pair | None:
        """The highlighted pair."""
        option = self.query_one(OptionList).highlighted_option
        facts = self.facts.get(option.id) if option is not None and option.id else None
        return facts.pair if facts else None

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_id:
            self._details.update(Content(details(self.facts[event.option_id])))
            self._details_view.scroll_home(animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if not self.is_active:
            return  # a second Enter in one read: the question is there already
        assert event.option_id is not None, "every row has its pair's name"
        pair = self.facts[event.option_id].pair
        if installed(pair.spec):
            self.dismiss(pair)
        elif (job := self.app.pulls.of(pair.spec)) and job.unfinished:
            self.say(f"{pair.name} is on its way. {self.app.keys.name('pairs.cancel')} cancels it.")
        elif pair.target.is_folder:
            self.say(f"The files of {pair.name} are missing or broken: {pair.target}, {pair.draft}.")
        else:
            self._ask_to_pull(pair)

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
        pulls, pair = self.app.pulls, self.chosen
        wanted = [job for job in pulls.jobs if job.is_wanted]
        of_pair = [job for job in wanted if pair and job.pair == pair.spec]
        for job in (of_pair or pulls.unfinished or wanted)[:1]:
            self.say(f"Cancelling {job.pair.name}…" if job.state == "running" else self.hint)
            job.cancel()
        self.show_downloads()

    def action_retry(self) -> None:
        pair = self.chosen
        self.say(self.hint)
        job = self.app.pulls.of(pair.spec) if pair else None
        if job is not None and not job.unfinished and job.state != "done":
            self.app.pulls.add(job.pair)
        else:
            self.app.pulls.resume()
        self.show_downloads()

    def action_add_own(self) -> None:
        if self.is_active:
            self.app.push_screen(OwnPairScreen(), self._take_own)

    def action_remove(self) -> None:
        if (pair := self.chosen) is not None and not self._removing:
            self._removing = True
            self.run_worker(self._remove(pair))

    def say(self, text: str) -> None:
        """A sentence under the list."""
        self.query_one("#pull-line", Static).update(Content(text))

    def show_downloads(self) -> None:
        """Show the app's downloads as they stand."""
        jobs = in_order(self.app.pulls.not_here, self.chosen)
        panel = self.query_one("#downloads", Static)
        panel.display = bool(jobs)
        panel.update(Content("\n".join(download_line(job, self.app.keys) for job in jobs)))
        for job in self.app.pulls.jobs:
            if job.unfinished:
                self._on_their_way.add(job)
                self._show_row(job.pair.name)
            elif job in self._on_their_way:
                self._on_their_way.remove(job)
                # What went wrong stands with the download itself, as long as it is there.
                self.say(outcome(job, self.app.keys) if job.state == "done" else self.hint)
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
            nothing = self.app.keys.told("No pair has these words. {pairs.back} shows all.")
            self._details.update(Content(nothing))

    @property
    def _predicts(self) -> bool:
        """There is room for a column of predicted speeds, and something to put there."""
        return self.app.size.width >= 100 and any(facts.expected for facts in self.facts.values())

    def _row(self, name: str) -> Content:
        width = self.app.size.width
        return Content(row(self.facts[name], self._state(name), width=width, predicts=self._predicts))

    def _show_row(self, name: str) -> None:
        options = self.query_one(OptionList)
        if any(option.id == name for option in options.options):
            options.replace_option_prompt(name, self._row(name))

    def _state(self, name: str) -> str:
        facts = self.facts.get(name)
        job = self.app.pulls.of(facts.pair.spec) if facts else None
        if job is not None and job.state == "running":
            return f"↓ {job.progress.fraction:.0%}" if job.progress else "↓ asking"
        if job is not None and job.state in ("waiting", "paused", "failed"):
            return job.state
        if facts is None or facts.installed:
            return "in use" if name == self.current else "installed"
        return facts.fit.verdict if facts.fit else "…"

    def _ask_to_pull(self, pair: Pair) -> None:
        facts = self.facts[pair.name]
        question = f"Download {pair.name}? {size_text(pair.download_bytes)} come from the Hub."
        if facts.fit and facts.fit.verdict != "fits":
            question += f" {facts.fit.verdict.capitalize()} here: it {facts.fit.why}."

        def start(wanted: bool | None) -> None:
            if wanted:
                self.app.pulls.add(pair.spec)
                self.show_downloads()

        self.app.push_screen(QuestionScreen(question, "Download", "Not now"), start)

    def _take_own(self, pair: Pair | None) -> None:
        if pair is not None:
            self.facts[pair.name] = Facts(pair, installed(pair.spec), 0)
            self.show_list(pair.name)
            self.look_again()
            self.say(f"{pair.name} was added: its models belong together. Enter uses it or downloads it.")

    async def _remove(self, pair: Pair) -> None:
        try:
            self.say(await remove_after_asking(self.app, pair))
        finally:
            self._removing = False
        self.look_again()

    def _look(self) -> None:
        from models.hub.removal import removable_bytes

        machine, chip, measured = this_machine(), this_chip(), last_speeds()
        seen: dict[str, Facts] = {}
        for pair in all_pairs():
            here = any(find_folder(source) for source in pair.spec.sources if not source.is_folder)
            seen[pair.name] = Facts(
                pair,
                installed(pair.spec),
                removable_bytes(pair.spec) if here else 0,
                fit(pair, machine),
                expect(pair, chip) if chip else None,
                measured.get(pair.name, ""),
            )
        self.app.call_from_thread(self._take, seen)

    def _take(self, facts: dict[str, Facts]) -> None:
        if not self.was_closed:
            self.facts = facts
            self.show_list()
