"""A comparison: its runs as they happen, side by side, then the verdict; or a saved comparison."""

import asyncio
from dataclasses import replace
from pathlib import Path

from textual.app import ComposeResult

from app.compare import store
from app.compare.collector import Differing
from app.compare.comparison_in_progress import ComparisonInProgress
from app.compare.export import export
from app.compare.plan import Plan, Run, plan
from app.compare.record import Record
from app.compare.request import SWEEP_REPEATS, sweep_lengths
from app.compare.words import sentence
from app.engine.events import PrefillProgressed, TextAdded, TurnEnded
from app.shell.errors import AppError
from app.shell.named_file import free_place
from app.shell.printable import printable
from app.tui.keys.keymap import bind
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.comparison_view import ComparisonView

EXPORTED = (".json", ".csv", ".png")


class CompareScreen(OpenedScreen[None]):
    """Runs a plan, or shows a record. Left and right walk prompts, up and down settings."""

    HELP = """\
The same prompts without and with drafting, one after the other on the same engine. {compare.left} and \
{compare.right} walk the prompts, {compare.up} and {compare.down} the settings."""

    BINDINGS = [
        STOP := bind("escape", "stop", "Stop", "compare.stop", "Stop, and compare the finished runs"),
        replace(STOP, action="dismiss", description="Back", tooltip="Go back, once it ended"),
        bind("pagedown", "scroll_texts(1)", "Scroll", "compare.page_down",
             "Scroll both texts, or the figures, down"),
        bind("pageup", "scroll_texts(-1)", "", "compare.page_up", "Scroll both texts, or the figures, up"),
        bind("f5,ctrl+r", "again", "Again", "compare.again", "Run the comparison again"),
        bind("v", "view", "Texts/figures", "compare.view", "Show the texts side by side, or the figures"),
        bind("left", "prompt(-1)", "", "compare.left", "Prompt before"),
        bind("right", "prompt(1)", "", "compare.right", "Next prompt"),
        bind("up", "setting(-1)", "", "compare.up", "Setting before"),
        bind("down", "setting(1)", "", "compare.down", "Next setting"),
        bind("s", "sweep", "Sweep", "compare.sweep",
             "Run the same prompts with draft lengths 0 to 8, and longer ones while they are faster"),
        bind("e", "export", "Export", "compare.export",
             "Write JSON, CSV and a picture into the folder for exports"),
    ]  # fmt: skip

    def __init__(self, *, plan: Plan | None = None, record: Record | None = None) -> None:
        super().__init__()
        self.plan = plan
        """None for a saved comparison."""
        self.record = record
        """None until there is a result."""
        self.progress: ComparisonInProgress | None = None
        """None once the comparison ended."""
        self._exports = False
        self._view = ComparisonView()

    def parts(self) -> ComposeResult:
        yield self._view

    async def on_mount(self) -> None:
        if self.record is not None:
            await self._view.show(self.record)
        else:
            assert self.plan is not None, "a screen has a plan or a record"
            self._start(self.plan)

    def on_unmount(self) -> None:
        self.leave()

    def leave(self) -> None:
        """Save the finished runs if the screen is left by another key, a command or with the program."""
        progress, self.progress = self.progress, None
        if progress is not None:
            if progress.run is not None:
                progress.break_off("left before its end")
            progress.stop()
            judged = "it broke off before both ways had run once, too early to judge."
            if (record := progress.record()) is not None:
                self._keep(record)
                judged = sentence(record)
            self.app.state.view.note(f"You left the comparison: {judged}")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing now are not offered."""
        if action in ("again", "sweep"):
            return self.progress is None and self.plan is not None
        if action in ("stop", "dismiss"):
            progress = self.progress
            stops = progress is not None and (progress.run is None or not progress.broken_off)
            return stops is (action == "stop")
        if action in ("view", "export"):
            return self.record is not None
        return action != "scroll_texts" or any(view.max_scroll_y for view in self._view.scrolled)

    async def action_stop(self) -> None:
        assert (progress := self.progress) is not None, "the key is not offered without one"
        if progress.run is None:  # what differs is being explained
            self.workers.cancel_node(self)
            await self._end(progress)
        else:
            self.app.link.skip_tuning()
            progress.stop()
            self.refresh_bindings()
            self._view.show_message(self.app.keys.fill_in("Stopping. {compare.stop} goes back meanwhile."))

    def action_again(self) -> None:
        assert self.plan is not None, "the key is not offered without one"
        self._start(self.plan)

    def action_sweep(self) -> None:
        assert (done := self.plan) is not None, "the key is not offered without one"
        settings = sweep_lengths(done.settings)
        self.plan = plan(done.questions, settings, done.options, SWEEP_REPEATS, climbs=True)
        self._start(self.plan)

    def action_view(self) -> None:
        self._view.switch()
        self.refresh_bindings()

    def action_prompt(self, step: int) -> None:
        self._view.walk_prompts(step)

    def action_setting(self, step: int) -> None:
        self._view.walk_settings(step)

    def action_scroll_texts(self, step: int) -> None:
        self._view.scroll_page(step)

    def action_export(self) -> None:
        assert self.record is not None, "the key is not offered without one"
        if not self._exports:
            # In a worker, since the picture takes seconds: keys work meanwhile, and the screen may be left.
            self._exports = True
            self.app.state.view.note("Writing JSON, CSV and a picture…")
            self.app.run_worker(self._export(self.record))

    async def _export(self, record: Record) -> None:
        place = free_place(self.app.config.export_folder, f"comparison-{record.name}", *EXPORTED)
        files = [Path(f"{place}{suffix}") for suffix in EXPORTED]
        try:
            for file in files:
                await asyncio.to_thread(export, record, file)
        except AppError as error:
            self.app.state.view.note(str(error), "error")
        else:
            written = ", ".join(file.name for file in files)
            self.app.state.view.note(f"Written: {written} in {place.parent}")
        finally:
            self._exports = False

    def _start(self, plan: Plan) -> None:
        self.record = None
        self.progress = ComparisonInProgress(self.app.link, plan)
        self.refresh_bindings()
        self._view.clear()
        self.run_worker(self._compare(self.progress))

    async def _compare(self, progress: ComparisonInProgress) -> None:
        message, show = "", self._view.show_message
        async for event in progress.events():
            match event:
                case Run():
                    self._view.begin_run(progress.plan, event)
                    judges = "" if event.warm_up else " and compares the finished runs"
                    doing, stop = progress.collector.doing(event), self.app.keys.name("compare.stop")
                    show(message := f"{doing}. {stop} stops{judges}.")
                case PrefillProgressed(done, total):
                    show(f"Reading the prompt: {done} of {total} tokens." if done < total else message)
                case TextAdded():
                    self._view.add(event)
                case TurnEnded(stats=stats):
                    self._view.end_run(stats)
                    self.refresh_bindings()
                case Differing():
                    show("The texts differ: asking the engine why.")
                case _:
                    pass
        if self.progress is progress:
            await self._end(progress)

    async def _end(self, progress: ComparisonInProgress) -> None:
        self.progress = None
        self.record = progress.record()
        if self.record is not None:
            self._keep(self.record)
            await self._view.show(self.record)
        else:
            after = f"after {progress.collector.count} of {progress.plan.count} runs"
            how = self.app.keys.fill_in("{compare.again} runs it again, {compare.stop} goes back.")
            self._view.show_message(
                f"Broken off {after}: {printable(progress.broken_off).rstrip('.')}. That is too little to "
                f"judge: both ways have to run once. {how}",
                "$text-warning",
            )
        self.refresh_bindings()

    def _keep(self, record: Record) -> None:
        try:
            if self.app.state.conversation.is_kept:
                store.keep(record)
        except AppError as error:
            self.app.state.view.note(str(error), "error")
