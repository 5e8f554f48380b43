"""A comparison on the screen: its prompt, two texts side by side or the figures, and the verdict."""

from collections.abc import Sequence
from statistics import median

from textual.app import ComposeResult
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import ContentSwitcher, Static

from app.compare.plan import Plan, Run, Setting, plain_of
from app.compare.record import Outcome, Record
from app.compare.words import drafting_text, headline
from app.engine.events import TextAdded
from app.shell.number_text import counted
from app.shell.printable import one_line
from app.tui.program import Program
from app.tui.widgets.answer import Answer
from app.tui.widgets.comparison_figures import ComparisonFigures
from app.tui.widgets.race import Race
from mlx_spec.stats import Stats


class ComparePane(VerticalScroll, can_focus=False):
    """One side: a growing answer, its setting in the frame above, its numbers in the frame below."""

    def __init__(self, title: str, name: str) -> None:
        super().__init__(id=name)
        self.border_title = title
        self._live = Answer(marks=True)

    def compose(self) -> ComposeResult:
        yield self._live

    def begin(self, title: str) -> None:
        self.border_title, self.border_subtitle = title, "waiting"
        self._live.end((), "", "")
        self.scroll_home(animate=False)

    def add(self, event: TextAdded) -> None:
        self._live.add(event.pieces)
        # Short texts stay at the top, where two of them are easiest to compare.
        if self._live.size.height > self.size.height and not self.is_anchored:
            self.anchor()
        self.border_subtitle = counted(event.tokens, "token")

    def end(self, runs: Sequence[Stats]) -> None:
        """Show the median decoding time of the repeats, and what drafting did in all of them."""
        did = drafting_text(runs) or counted(runs[0].tokens, "token")
        self.border_subtitle = f"{median(run.decode_seconds for run in runs):.2f} s, {did}"

    def show(self, title: str, outcome: Outcome) -> None:
        self.begin(title)
        self._live.add(outcome.pieces)
        self.end(outcome.runs)


class ComparisonView(Vertical):
    """Shows a plan while it runs, then its record; keys move through prompts and settings."""

    app: Program

    def __init__(self) -> None:
        super().__init__()
        self._record: Record | None = None
        self._prompt = 0
        self._setting = 0
        self._growing: ComparePane | None = None
        """The pane of the current run; None for warm-ups and repeats."""
        self._plain = ComparePane("Plain", "plain")
        self._drafted = ComparePane("Drafted", "drafted")
        self._figures = ComparisonFigures(id="figures")
        self._views = ContentSwitcher(
            Container(self._plain, self._drafted, id="panes"), self._figures,
            initial="panes", id="compare-views",
        )  # fmt: skip
        self._heading = Static(id="compare-prompt")
        self._race = Race()
        self.show_message = self._race.show_message

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self._race
        yield self._views

    def on_mount(self) -> None:
        for view in (self._figures, self._plain, self._drafted):  # each can scroll once it is laid out
            self.watch(view, "show_vertical_scrollbar", self.screen.refresh_bindings, init=False)

    def clear(self) -> None:
        self._record, self._prompt = None, -1
        self._views.current = "panes"
        self._race.clear()

    def begin_run(self, plan: Plan, run: Run) -> None:
        self._show_prompt(plan.questions[run.prompt].prompt.prompt)
        bars = self._race.bars
        if run.prompt != self._prompt:
            bars.clear()
            self._plain.begin("Plain")
            self._drafted.begin("Drafted")
            self._prompt = -1 if run.warm_up else run.prompt  # a warm-up is no part of the race
        setting = plan.settings[run.setting]
        bars.begin(bars.drafted if setting.drafts else bars.plain, plan.options_of(run).max_tokens)
        # Repeats give the same text.
        self._growing = self._pane_of(setting) if not run.warm_up and run.repeat == 0 else None
        if self._growing is not None:
            self._growing.begin(_title(setting))

    def add(self, event: TextAdded) -> None:
        self._race.bars.add(event.seconds, event.tokens, event.tokens_per_second)
        if self._growing is not None:
            self._growing.add(event)

    def end_run(self, stats: Stats) -> None:
        if self._growing is not None:
            self._growing.end((stats,))

    async def show(self, record: Record) -> None:
        """Show a finished comparison, best setting first: its texts if there are two, else the figures."""
        self._record, self._prompt = record, 0
        self._setting = record.drafting.index(record.by_ratio()[0])
        several = len(record.drafting) > 1 or len(record.prompts) > 1
        self._views.current = "figures" if several else "panes"
        self._show_texts(record)
        self._show_verdict(record)
        await self._figures.show(record)

    def switch(self) -> None:
        self._views.current = "figures" if self._views.current == "panes" else "panes"
        if self._record is not None:
            self._show_title(self._record)

    def walk_prompts(self, step: int) -> None:
        if self._record is not None:
            self._prompt = (self._prompt + step) % len(self._record.prompts)
            self._show_texts(self._record)

    def walk_settings(self, step: int) -> None:
        """Show another setting; the figures, which show all of them, scroll instead."""
        if self._record is not None and self._views.current == "figures":
            self._figures.scroll_relative(y=step * 2, animate=False, immediate=True)
        elif self._record is not None:
            self._setting = (self._setting + step) % len(self._record.drafting)
            self._show_texts(self._record)

    @property
    def scrolled(self) -> list[VerticalScroll]:
        return [self._figures] if self._views.current == "figures" else [self._plain, self._drafted]

    def scroll_page(self, step: int) -> None:
        for view in self.scrolled:
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

    def _show_verdict(self, record: Record) -> None:
        place = record.drafting[self._setting]
        one, (gain, sure) = record.comparison(place), headline(record, place)
        which = f"{record.settings[place].label}: " if len(record.drafting) > 1 else ""
        self._race.show(one, which, gain, sure)

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
        self._heading.update(Content.assemble(("Compare  ", "bold"), (when, "$text-muted"), one_line(prompt)))


def _title(setting: Setting) -> str:
    return f"Drafted: {setting.label}" if setting.drafts else setting.label.capitalize()
