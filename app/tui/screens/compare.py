"""A comparison: its runs one after the other, side by side, then what they say; or one that was kept."""

import asyncio
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Footer, Static

from app.comparisons import store
from app.comparisons.export import export
from app.comparisons.gathering import Differing, Gathering
from app.comparisons.plan import WARM_UP_TOKENS, Plan, Run, plan
from app.comparisons.record import Record
from app.comparisons.setting import Setting
from app.comparisons.wish import SWEEP_REPEATS, sweep_lengths
from app.comparisons.words import sentence
from app.errors import AppError
from app.events import Piece, PrefillProgressed, TextAdded, TurnEnded
from app.printable import one_line, printable
from app.tui.engine_link import EngineLink
from app.tui.messages import ComparisonEnded, DifferenceFound, TurnAdvanced, TurnFailed
from app.tui.widgets.compare_pane import ComparePane
from app.tui.widgets.comparison_figures import ComparisonFigures

EXPORTED = (".json", ".csv", ".png")


class CompareScreen(Screen[None]):
    """Runs a plan, or shows a record. Left and right walk prompts, up and down settings."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop / back", id="compare.stop", key_display="Esc",
                tooltip="Stop and judge what ran; once it ended, go back"),
        Binding("f5,ctrl+r", "again", "Again", id="compare.again", key_display="F5",
                tooltip="Run the comparison again"),
        Binding("v", "view", "Texts/figures", id="compare.view",
                tooltip="Show the texts side by side, or the figures"),
        Binding("left", "prompt(-1)", "Prompt before", id="compare.left", show=False),
        Binding("right", "prompt(1)", "Next prompt", id="compare.right", show=False),
        Binding("up", "setting(-1)", "Setting before", id="compare.up", show=False),
        Binding("down", "setting(1)", "Next setting", id="compare.down", show=False),
        Binding("s", "sweep", "Sweep lengths", id="compare.sweep",
                tooltip="Run the same prompts with draft lengths 0 to 8"),
        Binding("e", "export", "Export", id="compare.export",
                tooltip="Write JSON, CSV and a picture into this folder"),
    ]  # fmt: skip

    def __init__(self, link: EngineLink, *, plan: Plan | None = None, record: Record | None = None) -> None:
        super().__init__()
        self.link = link
        self.plan = plan
        """None for a comparison that is only shown."""
        self.record = record
        """None until there is something to judge."""
        self.run: Run | None = None
        """What is running; None once the comparison ended."""
        self.place = (0, 0)
        """Prompt and drafting setting in the panes of a finished comparison."""
        self._turn_id = 0
        self._stopping = False
        self._pieces: list[Piece] = []
        self._doubts: list[Differing] = []

    def compose(self) -> ComposeResult:
        yield Static(id="compare-prompt")
        with ContentSwitcher(initial="panes", id="compare-views"):
            with Container(id="panes"):
                yield ComparePane("Without drafting", "plain")
                yield ComparePane("With drafting", "drafted")
            yield ComparisonFigures(id="figures")
        yield Static(id="verdict")
        yield Footer()

    async def on_mount(self) -> None:
        if self.record is not None:
            await self._show_record(self.record)
        else:
            self._start()

    def on_unmount(self) -> None:
        if self.run is not None:
            self.link.cancel(self._turn_id)

    async def on_turn_advanced(self, message: TurnAdvanced) -> None:
        run = self.run
        if message.turn_id != self._turn_id or run is None:
            return
        match message.event:
            case PrefillProgressed(done, total):
                self._say(f"Reading the prompt: {done} of {total} tokens.")
            case TextAdded(pieces=pieces):
                self._pieces += pieces
                if run.kind == "counted" and run.repeat == 0:
                    self._pane(run).add(message.event)
            case TurnEnded():
                await self._end_run(run, message.event)

    async def on_difference_found(self, message: DifferenceFound) -> None:
        if message.turn_id == self._turn_id and self._doubts:
            self._gathering.explained(self._doubts.pop(0), message.difference)
            await self._judge()

    async def on_turn_failed(self, message: TurnFailed) -> None:
        if message.turn_id != self._turn_id or self.run is None:
            return
        if self._doubts:  # Without a reason the difference is told all the same.
            self._doubts.clear()
            await self._judge()
        else:
            self.run = None
            self._say(f"✗ {printable(message.text)}", "$text-error")

    def action_stop(self) -> None:
        if self.run is None:
            self.dismiss()
        else:
            self._stopping = True
            self.link.cancel(self._turn_id)

    def action_again(self) -> None:
        if self.run is None and self.plan is not None:
            self.record = None
            self._start()

    def action_sweep(self) -> None:
        if self.run is None and (done := self.plan) is not None:
            prompts = list(zip(done.prompts, done.conversations, strict=True))
            self.plan = plan(prompts, sweep_lengths(done.settings), done.options, SWEEP_REPEATS)
            self.action_again()

    def action_view(self) -> None:
        views = self.query_one("#compare-views", ContentSwitcher)
        if self.record is not None:
            views.current = "figures" if views.current == "panes" else "panes"

    def action_prompt(self, step: int) -> None:
        if self.record is not None:
            prompt, setting = self.place
            self.place = (prompt + step) % len(self.record.prompts), setting
            self._show_texts(self.record)

    def action_setting(self, step: int) -> None:
        if self.record is None:
            return
        if self.query_one("#compare-views", ContentSwitcher).current == "figures":
            self.query_one(ComparisonFigures).scroll_relative(y=step * 2, animate=False)
            return
        prompt, setting = self.place
        self.place = prompt, (setting + step) % len(self.record.drafting)
        self._show_texts(self.record)

    async def action_export(self) -> None:
        record = self.record
        if record is None:
            return
        files = [Path.cwd() / f"comparison-{record.name}{suffix}" for suffix in EXPORTED]
        try:
            for file in files:
                await asyncio.to_thread(export, record, file)
        except AppError as error:
            self.notify(printable(str(error)), severity="error", markup=False)
            return
        self.notify(printable(f"Written: {files[0].with_suffix('')}{{{','.join(EXPORTED)}}}"), markup=False)

    def _start(self) -> None:
        assert self.plan is not None
        self._stopping = False
        self._gathering = Gathering(self.plan)
        self._waiting = self.plan.runs
        self._shown = (-1, -1)
        self.query_one("#compare-views", ContentSwitcher).current = "panes"
        self._next()

    def _next(self) -> None:
        """Begin the run that is due; without one, ask why texts differ."""
        assert self.plan is not None
        run = next(self._waiting, None)
        if run is None:
            self._finish()
            return
        self.run = run
        self._pieces = []
        setting = self.plan.settings[run.setting]
        options = setting.options(self.plan.options)
        if run.kind == "warm-up":
            options = replace(options, max_tokens=min(WARM_UP_TOKENS, options.max_tokens))
        self._title(self.plan.prompts[run.prompt].prompt)
        self._open_panes(run)
        self._say(self._doing(run))
        self._turn_id = self.link.ask(self, self.plan.conversations[run.prompt], options)

    def _open_panes(self, run: Run) -> None:
        """Empty the pane a shown run fills, and both before another prompt."""
        assert self.plan is not None
        if run.kind == "warm-up" or run.repeat:
            return
        setting = self.plan.settings[run.setting]
        if run.prompt != self._shown[0]:
            self.query_one("#drafted", ComparePane).begin("With drafting")
        self._shown = run.prompt, run.setting
        self._pane(run).begin(_pane_title(setting))

    async def _end_run(self, run: Run, event: TurnEnded) -> None:
        if event.finish_reason == "cancelled" or self._stopping:
            self._finish()
            return
        if run.kind == "counted":
            self._gathering.add(run, event, self._pieces)
            if run.repeat == 0:
                self._pane(run).end(event.stats)
        self._next()

    def _finish(self) -> None:
        self._doubts = self._gathering.differing()
        self.call_later(self._judge)

    async def _judge(self) -> None:
        """Once the engine explained every difference, make the record, keep it, show it."""
        done = self.plan
        assert done is not None
        if self._doubts:
            first = self._doubts[0]
            plain = done.settings[first.setting].options(done.options)
            self._say("The texts differ: asking the engine why.")
            self._turn_id = self.link.explain(
                self, done.conversations[first.prompt], plain, first.plain, first.drafted
            )
            return
        self.run = None
        self.record = self._gathering.record(self._facts(done))
        if self.record is None:
            self._say("Stopped before both ways ran once. F5 runs it again, Esc goes back.", "$text-warning")
            return
        try:
            store.keep(self.record)
        except AppError as error:
            self.notify(printable(str(error)), severity="error", markup=False)
        self.app.post_message(ComparisonEnded(sentence(self.record)))
        await self._show_record(self.record)

    def _facts(self, done: Plan) -> dict[str, Any]:
        pair, info = self.link.pair, self.link.info
        options = asdict(done.options)
        for varied in ("drafter", "draft_length", "temperature", "stop_tokens"):
            del options[varied]
        return {
            "pair": {
                "name": pair.name,
                "target": str(pair.target),
                "draft": str(pair.draft) if pair.draft else None,
            },
            "device": info.device if info else "unknown",
            "options": options,
            "versions": dict(info.versions) if info else {},
            "blas": info.blas if info else "",
        }

    async def _show_record(self, record: Record) -> None:
        self.place = (0, 0)
        self._show_texts(record)
        several = len(record.drafting) > 1 or len(record.prompts) > 1
        self.query_one("#compare-views", ContentSwitcher).current = "figures" if several else "panes"
        best = max(record.comparison(place).ratio for place in record.drafting)
        same = all(outcome.difference is None for outcome in record.outcomes)
        self._say(sentence(record), "bold $text-success" if best > 1 and same else "bold $text-warning")
        await self.query_one(ComparisonFigures).show(record)

    def _show_texts(self, record: Record) -> None:
        prompt, setting = self.place[0], record.drafting[self.place[1]]
        number = f"{prompt + 1}/{len(record.prompts)} " if len(record.prompts) > 1 else ""
        self._title(f"{number}{record.prompts[prompt].prompt}")
        plain = record.outcome(prompt, record.plain_of(setting))
        self.query_one("#plain", ComparePane).show(_pane_title(record.settings[plain.setting]), plain)
        drafted = record.outcome(prompt, setting)
        self.query_one("#drafted", ComparePane).show(_pane_title(record.settings[setting]), drafted)

    def _pane(self, run: Run) -> ComparePane:
        assert self.plan is not None
        return self.query_one("#drafted" if self.plan.settings[run.setting].drafts else "#plain", ComparePane)

    def _doing(self, run: Run) -> str:
        assert self.plan is not None
        setting = self.plan.settings[run.setting]
        if run.kind == "warm-up":
            return f"Warming up: {setting.label}. Esc stops."
        told = f"Run {self._gathering.count + 1} of {self.plan.count}: {setting.label}"
        repeat = f", repeat {run.repeat + 1} of {self.plan.repeats}" if self.plan.repeats > 1 else ""
        return f"{told}{repeat}. Esc stops and judges what ran."

    def _title(self, prompt: str) -> None:
        when = f"{self.record.date[:16].replace('T', ' ')}  " if self.record is not None else ""
        self.query_one("#compare-prompt", Static).update(
            Content.assemble(("Compare  ", "bold"), (when, "dim"), one_line(prompt))
        )

    def _say(self, text: str, style: str = "") -> None:
        self.query_one("#verdict", Static).update(Content.styled(text, style))


def _pane_title(setting: Setting) -> str:
    if setting.drafts:
        return f"With drafting: {setting.label}"
    return f"Without drafting at {setting.temperature:g}" if setting.temperature else "Without drafting"
