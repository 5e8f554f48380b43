"""Plain and drafted decoding as two bars: a race while they run, then bars as long as the speeds."""

from bisect import bisect_right
from dataclasses import dataclass, field
from operator import itemgetter

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Digits, Static

from app.compare.comparison import Comparison
from app.shell.number_text import rate_text, smooth_bar

LABEL, SPEED = 8, 12
"""Columns before and after a bar."""
GOOD, BAD = "$text-success", "$text-warning"


@dataclass(slots=True)
class Runner:
    """One answer in the race."""

    label: str
    style: str
    steps: list[tuple[float, int]] = field(default_factory=list)
    """(seconds of decoding, tokens by then)."""
    tokens_per_second: float = 0.0

    def begin(self) -> None:
        self.steps, self.tokens_per_second = [], 0.0

    def tokens_at(self, seconds: float) -> int:
        place = bisect_right(self.steps, seconds, key=itemgetter(0))
        return self.steps[place - 1][1] if place else 0


class Bars(Widget):
    """The two runs follow each other; the finished one is replayed beside the other, at its own speed."""

    def __init__(self) -> None:
        super().__init__()
        self.plain, self.drafted = Runner("plain", "$text-muted"), Runner("drafted", GOOD)
        self._current: Runner | None = None
        """The current run."""
        self._token_limit = 1
        """Token limit of the answers."""

    def clear(self) -> None:
        self.plain.begin()
        self.drafted.begin()
        self.drafted.style = GOOD
        self._current = None
        self.refresh()

    def begin(self, runner: Runner, token_limit: int) -> None:
        runner.begin()
        self._current, self._token_limit = runner, token_limit
        self.refresh()

    def add(self, seconds: float, tokens: int, tokens_per_second: float) -> None:
        if self._current is not None:
            self._current.steps.append((seconds, tokens))
            self._current.tokens_per_second = tokens_per_second
            self.refresh()

    def show(self, plain: float, drafted: float, style: str) -> None:
        """Show the final speeds, in tokens per second."""
        self.clear()
        self.plain.tokens_per_second, self.drafted.tokens_per_second = plain, drafted
        self.drafted.style = style

    def shares(self) -> tuple[float, ...]:
        """Filled share of each bar: of the higher speed, or during a run of the finished run's tokens."""
        runners = self.plain, self.drafted
        if self._current is None:
            fastest = max(runner.tokens_per_second for runner in runners)
            return tuple(runner.tokens_per_second / (fastest or 1) for runner in runners)
        now = self._current.steps[-1][0] if self._current.steps else 0.0
        ended = (one.steps[-1][1] for one in runners if one is not self._current and one.steps)
        through = next(ended, self._token_limit)
        return tuple(runner.tokens_at(now) / through for runner in runners)

    def render(self) -> Content:
        room = max(1, self.size.width - LABEL - SPEED)
        lines = []
        for runner, share in zip((self.plain, self.drafted), self.shares(), strict=True):
            speed = f"{rate_text(runner.tokens_per_second)} tok/s" if runner.tokens_per_second else ""
            bar = smooth_bar(share, room)
            filled, end = (bar, f"{runner.style} on $panel"), (f"{speed:>{SPEED}}", "bold")
            lines.append(Content.assemble(f"{runner.label:<{LABEL}}", filled, end))
        return Content("\n").join(lines)


class Race(Horizontal):
    """The bars, and with a verdict the ratio, also in large digits if there is room."""

    def __init__(self) -> None:
        super().__init__()
        self.bars = Bars()
        self._ratio = Digits(id="ratio")
        self._words = Static(id="verdict")

    def compose(self) -> ComposeResult:
        yield self._ratio
        yield Vertical(self.bars, self._words)

    def clear(self) -> None:
        self.remove_class("-decided")
        self.bars.clear()

    def show_message(self, text: str, style: str = "") -> None:
        self._words.update(Content.styled(text, style))

    def show(self, one: Comparison, which: str, gain: str, sure: str) -> None:
        """`which` names the setting if there are several; `gain` and `sure` are its headline."""
        self.add_class("-decided")
        won = one.won and one.same_text == one.prompts
        style = GOOD if won else BAD
        self._ratio.update(one.ratio_cell)
        self._ratio.set_class(won, "-won")
        ratio = f"{one.ratio_cell}{'' if one.won else ':'} " if one.plain_tps else ""
        headline = (f"{ratio}{gain}", f"bold {style}")
        self._words.update(Content.assemble(which, headline, "\n", (sure, "$text-muted")))
        self.bars.show(one.plain_tps, one.drafted_tps, style)
