"""A comparison as it is drawn: its prompt, two texts side by side or the figures, and the verdict."""

from collections.abc import Sequence
from statistics import median

from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import ContentSwitcher, Static

from app.compare.plan import Plan, Run, Setting, plain_of
from app.compare.record import Outcome, Record
from app.compare.words import sentence
from app.engine.events import TextAdded
from app.shell.printable import one_line
from app.tui.program import Program
from app.tui.widgets.comparison_figures import ComparisonFigures
from app.tui.widgets.live_answer import LiveAnswer
from mlx_spec.stats import Stats


class ComparePane(Vertical):
    """One side: a growing answer with its numbers, titled in its border."""

    def __init__(self, title: str, name: str) -> None:
        super().__init__(id=name)
        self.border_title = title
        self._live = LiveAnswer()
        self._scroll = VerticalScroll(self._live, can_focus=False)
        self._numbers = Static(Content("waiting"), classes="numbers")

    def compose(self) -> ComposeResult:
        yield self._scroll
        yield self._numbers

    @property
    def text(self) -> str:
        return self._live.text

    def begin(self, title: str) -> None:
        self.border_title = title
        self._live.clear()
        self._scroll.scroll_home(animate=False)
        self._numbers.update(Content("waiting"))

    def add(self, event: TextAdded) -> None:
        self._live.add(event.pieces)
        # Short texts stay at the top, where two of them are easiest to compare.
        if self._live.size.height >= self._scroll.size.height and not self._scroll.is_anchored:
            self._scroll.anchor()
        self._numbers.update(Content(f"{event.tokens_per_second:.0f} tok/s · {event.tokens} tokens\n"))

    def end(self, runs: Sequence[Stats]) -> None:
        """Show the result of a run and its repeats as the figures do: median speed, acceptance over all."""
        speed = median(run.tokens_per_second for run in runs)
        seconds = median(run.decode_seconds for run in runs)
        drafted, accepted = sum(run.draft_n for run in runs), sum(run.draft_n_accepted for run in runs)
        drafting = "one token per round"
        if drafted:
            per_round = accepted / sum(run.rounds for run in runs)
            drafting = f"accepted {accepted / drafted:.0%}, {per_round:.2f} per round"
        numbers = f"{speed:.0f} tok/s · {runs[0].tokens} tokens in {seconds:.2f} s"
        self._numbers.update(Content(f"{numbers}\n{drafting}"))

    def show(self, title: str, outcome: Outcome) -> None:
        self.begin(title)
        self._live.add(outcome.pieces)
        self.end(outcome.runs)


class ComparisonView(Vertical):
    """Fills while a plan runs, then shows its record, in which the keys walk prompts and settings."""

    app: Program

    def __init__(self) -> None:
        super().__init__()
        self._record: Record | None = None
        self._prompt = 0
        self._setting = 0
        self._plain = ComparePane("Without drafting", "plain")
        self._drafted = ComparePane("With drafting", "drafted")
        self._figures = ComparisonFigures(id="figures")
        self._views = ContentSwitcher(
            Container(self._plain, self._drafted, id="panes"), self._figures,
            initial="panes", id="compare-views",
        )  # fmt: skip
        self._heading = Static(id="compare-prompt")
        self._verdict = Static(id="verdict")

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self._views
        yield self._verdict

    def clear(self) -> None:
        self._record, self._prompt = None, -1
        self._views.current = "panes"

    def begin_run(self, plan: Plan, run: Run) -> None:
        self._show_prompt(plan.questions[run.prompt].prompt.prompt)
        if _is_shown(run):
            if run.prompt != self._prompt:
                self._drafted.begin("With drafting")
            self._prompt = run.prompt
            setting = plan.settings[run.setting]
            self._pane_of(setting).begin(_title(setting))

    def add(self, plan: Plan, run: Run, event: TextAdded) -> None:
        if _is_shown(run):
            self._pane_of(plan.settings[run.setting]).add(event)

    def end_run(self, plan: Plan, run: Run, stats: Stats) -> None:
        if _is_shown(run):
            self._pane_of(plan.settings[run.setting]).end((stats,))

    async def show(self, record: Record) -> None:
        """Show a finished comparison: its texts if there are two, else the figures first."""
        self._record, self._prompt, self._setting = record, 0, 0
        several = len(record.drafting) > 1 or len(record.prompts) > 1
        self._views.current = "figures" if several else "panes"
        self._show_texts(record)
        same = all(outcome.difference is None for outcome in record.outcomes)
        won = record.best_ratio > 1 and same
        self.show_message(sentence(record), "bold $text-success" if won else "bold $text-warning")
        await self._figures.show(record)

    def show_message(self, text: str, style: str = "") -> None:
        self._verdict.update(Content.styled(text, style))

    def switch(self) -> None:
        self._views.current = "figures" if self._views.current == "panes" else "panes"
        if self._record is not None:
            self._show_title(self._record)

    def walk_prompts(self, step: int) -> None:
        if self._record is not None:
            self._prompt = (self._prompt + step) % len(self._record.prompts)
            self._show_texts(self._record)

    def walk_settings(self, step: int) -> None:
        """The figures show all settings: they scroll."""
        if self._record is not None and self._views.current == "figures":
            self._figures.scroll_relative(y=step * 2, animate=False, immediate=True)
        elif self._record is not None:
            self._setting = (self._setting + step) % len(self._record.drafting)
            self._show_texts(self._record)

    def scroll_page(self, step: int) -> None:
        in_figures = self._views.current == "figures"
        for view in [self._figures] if in_figures else self._views.query("ComparePane VerticalScroll"):
            if step < 0:
                view.scroll_page_up(animate=False)
            else:
                view.scroll_page_down(animate=False)

    def _pane_of(self, setting: Setting) -> ComparePane:
        return self._drafted if setting.drafts else self._plain

    def _show_texts(self, record: Record) -> None:
        self._show_title(record)
        drafted = record.drafting[self._setting]
        for place in (plain_of(record.settings, drafted), drafted):
            setting = record.settings[place]
            self._pane_of(setting).show(_title(setting), record.outcome(self._prompt, place))

    def _show_title(self, record: Record) -> None:
        count, text = len(record.prompts), record.prompts[self._prompt].prompt
        if count > 1 and self._views.current == "figures":
            text = f"{count} prompts together"
        elif count > 1:
            keys = self.app.keys.fill_in("{compare.left}, {compare.right}")
            text = f"{self._prompt + 1}/{count} ({keys}) {text}"
        self._show_prompt(text)

    def _show_prompt(self, prompt: str) -> None:
        when = f"{self._record.when}  " if self._record is not None else ""
        self._heading.update(Content.assemble(("Compare  ", "bold"), (when, "dim"), one_line(prompt)))


def _is_shown(run: Run) -> bool:
    """The first answer of each setting fills a pane; the repeats are the same text."""
    return not run.warm_up and run.repeat == 0


def _title(setting: Setting) -> str:
    if setting.drafts:
        return f"With drafting: {setting.label}"
    return f"Without drafting at {setting.temperature:g}" if setting.temperature else "Without drafting"
