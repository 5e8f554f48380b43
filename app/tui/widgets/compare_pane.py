"""One side of a comparison: a growing answer with its numbers."""

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from app.events import TextAdded, TurnEnded
from app.tui.widgets.live_answer import LiveAnswer


class ComparePane(Vertical):
    """Titled in its border; fills while its run is on."""

    def __init__(self, title: str, name: str) -> None:
        super().__init__(id=name)
        self.border_title = title

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield LiveAnswer()
        yield Static(Content("waiting"), classes="numbers")

    @property
    def text(self) -> str:
        return self.query_one(LiveAnswer).text

    def add(self, event: TextAdded) -> None:
        """Show one more round."""
        live, scroll = self.query_one(LiveAnswer), self.query_one(VerticalScroll)
        live.add(event.pieces)
        # Short texts stay at the top, where two of them are easiest to compare.
        if live.size.height >= scroll.size.height and not scroll.is_anchored:
            scroll.anchor()
        self.say(f"{event.tokens_per_second:.0f} tok/s · {event.tokens} tokens\n")

    def end(self, event: TurnEnded) -> None:
        """Show the run's result."""
        stats = event.stats
        speed = f"{stats.tokens_per_second:.0f} tok/s · {stats.tokens} tokens in {stats.decode_seconds:.2f} s"
        drafted = f"accepted {stats.acceptance_rate:.0%}, {stats.accepted_per_round:.2f} per round"
        self.say(f"{speed}\n{drafted if stats.draft_n else 'one token per round'}")

    def say(self, text: str) -> None:
        """The line below the text."""
        self.query_one(".numbers", Static).update(Content(text))
