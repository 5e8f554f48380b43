"""One side of a comparison: a growing answer with its numbers."""

from collections.abc import Sequence
from statistics import median

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from app.compare.measured import Outcome
from app.engine.events import TextAdded
from app.tui.widgets.live_answer import LiveAnswer
from mlx_spec.stats import Stats


class ComparePane(Vertical):
    """Titled in its border; fills while its run is on."""

    def __init__(self, title: str, name: str) -> None:
        super().__init__(id=name)
        self.border_title = title

    def compose(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield LiveAnswer()
        yield Static(Content("waiting"), classes="numbers")

    @property
    def text(self) -> str:
        return self.query_one(LiveAnswer).text

    def begin(self, title: str) -> None:
        """Make room for another run."""
        self.border_title = title
        self.query_one(LiveAnswer).clear()
        self.query_one(VerticalScroll).scroll_home(animate=False)
        self.show_numbers("waiting")

    def add(self, event: TextAdded) -> None:
        """Show one more round."""
        live, scroll = self.query_one(LiveAnswer), self.query_one(VerticalScroll)
        live.add(event.pieces)
        # Short texts stay at the top, where two of them are easiest to compare.
        if live.size.height >= scroll.size.height and not scroll.is_anchored:
            scroll.anchor()
        self.show_numbers(f"{event.tokens_per_second:.0f} tok/s · {event.tokens} tokens\n")

    def end(self, runs: Sequence[Stats]) -> None:
        """Show the result of a run and its repeats as the figures do: median speed, acceptance over all."""
        speed = median(run.tokens_per_second for run in runs)
        seconds = median(run.decode_seconds for run in runs)
        numbers = f"{speed:.0f} tok/s · {runs[0].tokens} tokens in {seconds:.2f} s\n"
        drafted, accepted = sum(run.draft_n for run in runs), sum(run.draft_n_accepted for run in runs)
        if drafted:
            per_round = accepted / sum(run.rounds for run in runs)
            self.show_numbers(f"{numbers}accepted {accepted / drafted:.0%}, {per_round:.2f} per round")
        else:
            self.show_numbers(f"{numbers}one token per round")

    def show(self, title: str, outcome: Outcome) -> None:
        """Show a finished run, with the numbers of all its repeats."""
        self.begin(title)
        self.query_one(LiveAnswer).add(outcome.pieces)
        self.end(outcome.runs)

    def show_numbers(self, text: str) -> None:
        """The lines below the text."""
        self.query_one(".numbers", Static).update(Content(text))
