"""A comparison: its runs one after the other, side by side, then what they say; or one that was kept."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import ContentSwitcher, Static

from app.compare import store
from app.compare.export import export
from app.compare.plan import Plan, Run, plan
from app.compare.record import Record
from app.compare.request import SWEEP_REPEATS, sweep_lengths
from app.compare.setting import Setting
from app.compare.words import sentence
from app.engine.events import PrefillProgressed, TextAdded, TurnEnded
from app.shell.errors import AppError
from app.shell.printable import one_line, printable
from app.tui.comparison_in_progress import ComparisonInProgress
from app.tui.engine_link import EngineLink
from app.tui.messages import ComparisonEnded, DifferenceFound, TurnAdvanced, TurnFailed
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.compare_pane import ComparePane
from app.tui.widgets.comparison_figures import ComparisonFigures
from app.tui.widgets.key_line import KeyLine

if TYPE_CHECKING:
    from app.tui.app import ChatApp

EXPORTED = (".json", ".csv", ".png")


class CompareScreen(OpenedScreen[None]):
    """Runs a plan, or shows a record. Left and right walk prompts, up and down settings."""

    app: "ChatApp"

    HELP = """\
The same prompts without and with drafting, one after the other on the same engine. {compare.left} and \
{compare.right} walk the prompts, {compare.up} and {compare.down} the settings."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop / back", id="compare.stop",
                tooltip="Stop and judge what ran; once it ended, go back"),
        Binding("f5,ctrl+r", "again", "Again", id="compare.again",
                tooltip="Run the comparison again"),
        Binding("v", "view", "Texts/figures", id="compare.view",
                tooltip="Show the texts side by side, or the figures"),
        Binding("left", "prompt(-1)", "Prompt before", id="compare.left", show=False),
        Binding("right", "prompt(1)", "Next prompt", id="compare.right", show=False),
        Binding("up", "setting(-1)", "Setting before", id="compare.up", show=False),
        Binding("down", "setting(1)", "Next setting", id="compare.down", show=False),
        Binding("s", "sweep", "Sweep", id="compare.sweep",
                tooltip="Run the same prompts with draft lengths 0 to 8"),
        Binding("e", "export", "Export", id="compare.export",
                tooltip="Write JSON, CSV and a picture into this folder"),
        Binding("pagedown", "scroll_texts(1)", "Scroll", id="compare.page_down",
                tooltip="Scroll both texts, or the figures, down"),
        Binding("pageup", "scroll_texts(-1)", "Scroll up", id="compare.page_up", show=False,
                tooltip="Scroll both texts, or the figures, up"),
    ]  # fmt: skip

    def __init__(self, link: EngineLink, *, plan: Plan | None = None, record: Record | None = None) -> None:
        super().__init__()
        self.link = link
        self.plan = plan
        """None for a comparison that is only shown."""
        self.record = record
        """None until there is something to judge."""
        self.progress: ComparisonInProgress | None = None
        """None once the comparison ended."""
        self.place = (0, 0)
        """Prompt and drafting setting in the panes of a finished comparison."""
        self._shown_prompt = -1
        self._exports = False

    def compose(self) -> ComposeResult:
        yield Static(id="compare-prompt")
        with ContentSwitcher(initial="panes", id="compare-views"):
            with Container(id="panes"):
                yield ComparePane("Without drafting", "plain")
                yield ComparePane("With drafting", "drafted")
            yield ComparisonFigures(id="figures")
        yield Static(id="verdict")
        yield KeyLine()

    async def on_mount(self) -> None:
        if self.record is not None:
            await self._show_record(self.record)
        else:
            assert self.plan is not None, "a screen has a plan or a record"
            await self._start(self.plan)

    def on_unmount(self) -> None:
        """Left by another key, or with the program: what ran is not thrown away."""
        if (progress := self.progress) is not None:
            progress.break_off("left before its end")
            progress.stop()
            if (record := progress.record()) is not None:
                self._keep(record)

    async def on_turn_advanced(self, message: TurnAdvanced) -> None:
        progress = self.progress
        if progress is None or progress.run is None or not progress.owns(message.turn_id):
            return
        run = progress.run
        match message.event:
            case PrefillProgressed(done, total):
                self._say(f"Reading the prompt: {done} of {total} tokens.")
            case TextAdded(pieces=pieces):
                progress.add(pieces)
                if _is_shown(run):
                    self._pane(run).add(message.event)
            case TurnEnded(stats=stats):
                if not progress.end_run(message.event):
                    await self._judge(progress)
                    return
                if _is_shown(run):
                    self._pane(run).end((stats,))
                await self._go_on(progress)

    async def on_difference_found(self, message: DifferenceFound) -> None:
        if (progress := self.progress) is not None and progress.owns(message.turn_id):
            progress.explained(message.difference)
            await self._explain(progress)

    async def on_turn_failed(self, message: TurnFailed) -> None:
        progress = self.progress
        if progress is None or not progress.owns(message.turn_id):
            return
        if progress.run is not None:
            progress.break_off(message.reason)
        progress.leave_unexplained()
        self.link.wake()
        await self._end(progress)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing now are not offered."""
        if action in ("again", "sweep"):
            return self.progress is None and self.plan is not None
        if action in ("view", "export"):
            return self.record is not None
        return True

    def action_stop(self) -> None:
        if self.progress is None:
            self.dismiss()
        else:
            self.progress.stop()

    async def action_again(self) -> None:
        assert self.plan is not None, "the key is not offered without one"
        await self._start(self.plan)

    async def action_sweep(self) -> None:
        assert (done := self.plan) is not None, "the key is not offered without one"
        self.plan = plan(done.questions, sweep_lengths(done.settings), done.options, SWEEP_REPEATS)
        await self._start(self.plan)

    def action_view(self) -> None:
        views = self.query_one("#compare-views", ContentSwitcher)
        views.current = "figures" if views.current == "panes" else "panes"
        assert self.record is not None, "the key is not offered without one"
        self._show_title(self.record)

    def action_prompt(self, step: int) -> None:
        if self.record is not None:
            prompt, setting = self.place
            self.place = (prompt + step) % len(self.record.prompts), setting
            self._show_texts(self.record)

    def action_setting(self, step: int) -> None:
        if self.record is None:
            return
        if self.query_one("#compare-views", ContentSwitcher).current == "figures":
            self.query_one(ComparisonFigures).scroll_relative(y=step * 2, animate=False, immediate=True)
            return
        prompt, setting = self.place
        self.place = prompt, (setting + step) % len(self.record.drafting)
        self._show_texts(self.record)

    def action_scroll_texts(self, step: int) -> None:
        shown = self.query_one("#compare-views", ContentSwitcher).visible_content
        assert shown is not None, "one of the two is always shown"
        for view in (shown, *shown.query(VerticalScroll)):
            if step < 0:
                view.scroll_page_up(animate=False)
            else:
                view.scroll_page_down(animate=False)

    def action_export(self) -> None:
        assert self.record is not None, "the key is not offered without one"
        if not self._exports:
            # The picture takes seconds: keys are heard meanwhile, and this screen may be left.
            self._exports = True
            self.notify("Writing JSON, CSV and a picture…")
            self.app.run_worker(self._export(self.record))

    async def _export(self, record: Record) -> None:
        files = [Path.cwd() / f"comparison-{record.name}{suffix}" for suffix in EXPORTED]
        try:
            for file in files:
                await asyncio.to_thread(export, record, file)
        except AppError as error:
            self.app.notify(printable(str(error)), severity="error", markup=False)
        else:
            written = f"Written: {', '.join(file.name for file in files)} in {Path.cwd()}"
            self.app.notify(printable(written), markup=False)
        finally:
            self._exports = False

    async def _start(self, plan: Plan) -> None:
        self.record = None
        self.progress = ComparisonInProgress(self.link, self, plan)
        self.refresh_bindings()
        self._shown_prompt = -1
        self.query_one("#compare-views", ContentSwitcher).current = "panes"
        await self._go_on(self.progress)

    async def _go_on(self, progress: ComparisonInProgress) -> None:
        """Begin the run that is due; after the last one, judge."""
        run = progress.begin_next()
        if run is None:
            await self._judge(progress)
            return
        self._title(progress.plan.prompts[run.prompt].prompt)
        if _is_shown(run):
            if run.prompt != self._shown_prompt:
                self.query_one("#drafted", ComparePane).begin("With drafting")
            self._shown_prompt = run.prompt
            self._pane(run).begin(_pane_title(progress.plan.settings[run.setting]))
        self._say(progress.doing(run, self.app.keys.name("compare.stop")))

    async def _judge(self, progress: ComparisonInProgress) -> None:
        progress.look_for_differences()
        await self._explain(progress)

    async def _explain(self, progress: ComparisonInProgress) -> None:
        if progress.explain_next():
            self._say("The texts differ: asking the engine why.")
        else:
            await self._end(progress)

    async def _end(self, progress: ComparisonInProgress) -> None:
        """Make the record of what ran, keep it, show it."""
        self.progress = None
        self.record = progress.record()
        self.refresh_bindings()
        if self.record is None:
            after = f"after {progress.count} of {progress.plan.count} runs"
            how = self.app.keys.told("{compare.again} runs it again, {compare.stop} goes back.")
            self._say(
                f"Broken off {after}: {printable(progress.broken_off).rstrip('.')}. That is too little to "
                f"judge: both ways have to run once. {how}",
                "$text-warning",
            )
            return
        self._keep(self.record)
        await self._show_record(self.record)

    def _keep(self, record: Record) -> None:
        try:
            store.keep(record)
        except AppError as error:
            self.app.notify(printable(str(error)), severity="error", markup=False)
        self.app.post_message(ComparisonEnded(sentence(record)))

    async def _show_record(self, record: Record) -> None:
        self.place = (0, 0)
        self._show_texts(record)
        several = len(record.drafting) > 1 or len(record.prompts) > 1
        self.query_one("#compare-views", ContentSwitcher).current = "figures" if several else "panes"
        self._show_title(record)
        same = all(outcome.difference is None for outcome in record.outcomes)
        self._say(
            sentence(record), "bold $text-success" if record.best_ratio > 1 and same else "bold $text-warning"
        )
        await self.query_one(ComparisonFigures).show(record)

    def _show_texts(self, record: Record) -> None:
        prompt, setting = self.place[0], record.drafting[self.place[1]]
        self._show_title(record)
        plain = record.outcome(prompt, record.plain_of(setting))
        self.query_one("#plain", ComparePane).show(_pane_title(record.settings[plain.setting]), plain)
        drafted = record.outcome(prompt, setting)
        self.query_one("#drafted", ComparePane).show(_pane_title(record.settings[setting]), drafted)

    def _show_title(self, record: Record) -> None:
        """The prompt in the panes; over figures, what they are of."""
        count, prompt = len(record.prompts), self.place[0]
        text = record.prompts[prompt].prompt
        if count > 1 and self.query_one("#compare-views", ContentSwitcher).current == "figures":
            text = f"{count} prompts together"
        elif count > 1:
            text = self.app.keys.told(f"{prompt + 1}/{count} ({{compare.left}}, {{compare.right}}) ") + text
        self._title(text)

    def _pane(self, run: Run) -> ComparePane:
        assert self.plan is not None
        return self.query_one("#drafted" if self.plan.settings[run.setting].drafts else "#plain", ComparePane)

    def _title(self, prompt: str) -> None:
        when = f"{self.record.when}  " if self.record is not None else ""
        self.query_one("#compare-prompt", Static).update(
            Content.assemble(("Compare  ", "bold"), (when, "dim"), one_line(prompt))
        )

    def _say(self, text: str, style: str = "") -> None:
        self.query_one("#verdict", Static).update(Content.styled(text, style))


def _is_shown(run: Run) -> bool:
    """The first answer of each setting fills a pane; the repeats are the same text."""
    return run.kind == "counted" and run.repeat == 0


def _pane_title(setting: Setting) -> str:
    if setting.drafts:
        return f"With drafting: {setting.label}"
    return f"Without drafting at {setting.temperature:g}" if setting.temperature else "Without drafting"
