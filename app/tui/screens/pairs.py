"""F2: the pairs there are, what they need, and getting one."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, OptionList, ProgressBar, Static
from textual.widgets.option_list import Option

from app.tui.pair_facts import details, header, pulling, row
from app.tui.pull_job import PullJob
from app.tui.screens.question import QuestionScreen
from models.catalogue import Pair, all_pairs
from models.fit import Fit, fit
from models.installed import installed
from models.machine import this_machine
from models.size_text import size_text

if TYPE_CHECKING:
    from app.tui.app import ChatApp

WATCH_SECONDS = 0.25


class PairsScreen(Screen[Pair | None]):
    """Gives the pair to use, or None. A download goes on when the screen is left."""

    app: "ChatApp"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Use or pull", id="pairs.choose",
                tooltip="Use the pair, or download it first"),
        Binding("c", "cancel_pull", "Cancel download", id="pairs.cancel",
                tooltip="Stop the running download"),
        Binding("escape", "dismiss(None)", "Back", id="pairs.back", key_display="Esc",
                tooltip="Back to the chat"),
    ]  # fmt: skip

    def __init__(self, current: str) -> None:
        super().__init__()
        self.pairs = all_pairs()
        self.current = current
        self._fits: dict[str, Fit] = {}
        """By pair; filled on a thread, because asking the machine takes a moment."""
        self._job_seen: PullJob | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="pairs-header")
        yield OptionList(markup=False)
        yield Static(id="pair-details")
        yield ProgressBar(total=1.0, show_eta=False)
        yield Static(id="pull-line")
        yield Footer()

    def on_mount(self) -> None:
        self._list()
        self._say("Enter uses the pair, or downloads it first. ? marks facts that are not verified.")
        self.query_one(OptionList).focus()
        self.run_worker(self._look_at_machine, thread=True)
        self.set_interval(WATCH_SECONDS, self.show_pull)
        self.show_pull()

    def on_resize(self) -> None:
        self._list()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._describe(self.pairs[event.option_index])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        pair = self.pairs[event.option_index]
        if installed(pair.spec):
            self.dismiss(pair)
        elif self.app.pull is not None and self.app.pull.running:
            self._say(f"{self.app.pull.pair.name} is being downloaded. Wait for it, or cancel it with c.")
        elif pair.target.is_folder:
            self._say(f"{pair.name} ships with the program, but its files are missing or broken here.")
        else:
            question = f"Download {pair.name}? {size_text(pair.download_bytes)} come from the Hub."
            if pair.name in self._fits and self._fits[pair.name].verdict == "does not fit":
                question += f" It does not fit here: it {self._fits[pair.name].why}."
            self.app.push_screen(QuestionScreen(question, "Download", "Not now"), self._answered(pair))

    def action_choose(self) -> None:
        self.query_one(OptionList).action_select()

    def action_cancel_pull(self) -> None:
        if self.app.pull is not None and self.app.pull.running:
            self.app.pull.cancel()
            self._say("Cancelling…")

    def show_pull(self) -> None:
        """Show the app's download as it stands."""
        job = self.app.pull
        bar = self.query_one(ProgressBar)
        bar.display = job is not None and job.running
        if job is None:
            return
        if job.running:
            self._job_seen = job
            bar.update(progress=job.progress.fraction if job.progress else 0.0)
            self._say(pulling(job.pair.name, job.progress))
        elif job is self._job_seen:
            self._job_seen = None
            self._say(outcome(job))
            self._list()

    def _answered(self, pair: Pair):
        def start(wanted: bool | None) -> None:
            if wanted:
                self.app.start_pull(pair.spec)

        return start

    def _look_at_machine(self) -> None:
        machine = this_machine()
        fits = {pair.name: fit(pair, machine) for pair in self.pairs}
        self.app.call_from_thread(self._take_fits, fits)

    def _take_fits(self, fits: dict[str, Fit]) -> None:
        self._fits = fits
        if self.is_mounted:
            self._list()

    def _describe(self, pair: Pair) -> None:
        why = self._fits[pair.name].why if pair.name in self._fits else ""
        self.query_one("#pair-details", Static).update(Content(details(pair, why)))

    def _list(self) -> None:
        wide = self.app.size.width >= 80
        options = self.query_one(OptionList)
        highlighted = options.highlighted
        self.query_one("#pairs-header", Static).update(Content.styled(header(wide=wide), "bold"))
        options.clear_options()
        options.add_options(Option(Content(row(pair, self._state(pair), wide=wide))) for pair in self.pairs)
        names = [pair.name for pair in self.pairs]
        start = names.index(self.current) if self.current in names else 0
        options.highlighted = start if highlighted is None else highlighted
        self._describe(self.pairs[options.highlighted])

    def _state(self, pair: Pair) -> str:
        if installed(pair.spec):
            return "in use" if pair.name == self.current else "installed"
        return self._fits[pair.name].verdict if pair.name in self._fits else "…"

    def _say(self, text: str) -> None:
        self.query_one("#pull-line", Static).update(Content(text))


def outcome(job: PullJob) -> str:
    """How a download ended."""
    if job.error is not None:
        return f"✗ {job.error}"
    if job.cancelled:
        return f"The download of {job.pair.name} was cancelled. Finished files are kept."
    return f"{job.pair.name} is installed. Choose it with Enter."
