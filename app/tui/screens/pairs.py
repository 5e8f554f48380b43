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
from models.installed import installed
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
        Binding("c", "cancel_pull", "Cancel download", id="pairs.cancel", tooltip="Stop the running download"),
        Binding("escape", "dismiss(None)", "Back", id="pairs.back", tooltip="Back to the chat"),
    ]  # fmt: skip

    def __init__(self, current: str) -> None:
        super().__init__()
        self.pairs = all_pairs()
        self.current = current
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
        self.query_one(OptionList).focus()
        self.set_interval(WATCH_SECONDS, self.show_pull)
        self.show_pull()

    def on_resize(self) -> None:
        self._list()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self.query_one("#pair-details", Static).update(Content(details(self.pairs[event.option_index])))

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

    def _state(self, pair: Pair) -> str:
        if not installed(pair.spec):
            return "not installed"
        return "in use" if pair.name == self.current else "installed"

    def _say(self, text: str) -> None:
        self.query_one("#pull-line", Static).update(Content(text))


def outcome(job: PullJob) -> str:
    """How a download ended."""
    if job.error is not None:
        return f"✗ {job.error}"
    if job.cancelled:
        return f"The download of {job.pair.name} was cancelled. Finished files are kept."
    return f"{job.pair.name} is installed. Choose it with Enter."
