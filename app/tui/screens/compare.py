"""The last prompt without and with drafting: run one after the other, shown side by side."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from app.chat_prompt import Message
from app.events import PrefillProgressed, TextAdded, TurnEnded
from app.printable import one_line, printable
from app.tui.comparison import SHORT_SECONDS, Comparison
from app.tui.engine_link import EngineLink
from app.tui.messages import ComparisonEnded, TurnAdvanced, TurnFailed
from app.tui.settings import Settings
from app.tui.widgets.compare_pane import ComparePane

WARM_UP_TOKENS = 8
REPEATS = 2
"""How often short runs are repeated, each way."""


@dataclass(frozen=True, slots=True)
class Run:
    """One answer of the comparison."""

    kind: Literal["warm-up", "shown", "repeat"]
    drafting: bool


WAYS = (False, True)
FIRST = [Run("warm-up", way) for way in WAYS] + [Run("shown", way) for way in WAYS]
AGAIN = [Run("repeat", way) for way in WAYS] * REPEATS


class CompareScreen(Screen[None]):
    """Warms both ways up, so that neither run pays for first use or for reading the prompt."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop / back", id="compare.stop", key_display="Esc",
                tooltip="Stop the comparison; once it ended, go back"),
        Binding("f5,ctrl+r", "again", "Again", id="compare.again", key_display="F5",
                tooltip="Run the comparison again"),
    ]  # fmt: skip

    def __init__(self, link: EngineLink, messages: Sequence[Message], settings: Settings) -> None:
        super().__init__()
        self.link = link
        self.run: Run | None = None
        """What is running; None once the comparison ended."""
        self.result: Comparison | None = None
        self._conversation = tuple(messages)
        self._settings = settings
        self._turn_id = 0
        self._waiting: list[Run] = []
        self._ends: dict[bool, list[TurnEnded]] = {}

    def compose(self) -> ComposeResult:
        prompt = one_line(self._conversation[-1]["content"])
        yield Static(Content.assemble(("Compare  ", "bold"), prompt), id="compare-prompt")
        with Container(id="panes"):
            yield ComparePane("Without drafting", "plain")
            yield ComparePane("With drafting", "drafted")
        yield Static(id="verdict")
        yield Footer()

    def on_mount(self) -> None:
        self._start()

    def on_unmount(self) -> None:
        if self.run is not None:
            self.link.cancel(self._turn_id)

    def on_turn_advanced(self, message: TurnAdvanced) -> None:
        if message.turn_id != self._turn_id or self.run is None:
            return
        match message.event:
            case PrefillProgressed(done, total):
                self._say(f"Reading the prompt: {done} of {total} tokens.")
            case TextAdded() if self.run.kind == "shown":
                self._pane(self.run).add(message.event)
            case TurnEnded():
                self._end_run(self.run, message.event)

    def on_turn_failed(self, message: TurnFailed) -> None:
        if message.turn_id == self._turn_id and self.run is not None:
            self.run = None
            self._say(f"✗ {printable(message.text)}", "$text-error")

    def action_stop(self) -> None:
        if self.run is None:
            self.dismiss()
        else:
            self.link.cancel(self._turn_id)

    async def action_again(self) -> None:
        if self.run is None:
            await self.recompose()
            self._start()

    def _start(self) -> None:
        self.result = None
        self._ends = {way: [] for way in WAYS}
        self._waiting = list(FIRST)
        self._next()

    def _next(self) -> None:
        """Begin the run that is due; without one, judge."""
        if not self._waiting:
            self.run = None
            self._judge()
            return
        self.run = self._waiting.pop(0)
        options = self._settings.for_answer(drafting=self.run.drafting)
        if self.run.kind == "warm-up":
            options = replace(options, max_tokens=min(WARM_UP_TOKENS, options.max_tokens))
        self._say(self._doing(self.run))
        self._turn_id = self.link.ask(self, self._conversation, options)

    def _end_run(self, run: Run, event: TurnEnded) -> None:
        if run.kind == "shown":
            self._pane(run).end(event)
        if event.finish_reason == "cancelled":
            self.run = None
            self._say("Stopped. F5 runs it again, Esc goes back.", "$text-warning")
            return
        if run.kind != "warm-up":
            self._ends[run.drafting].append(event)
        if run == FIRST[-1] and min(e.stats.decode_seconds for e in self._all()) < SHORT_SECONDS:
            self._waiting += AGAIN
        self._next()

    def _judge(self) -> None:
        self.result = Comparison(tuple(self._ends[False]), tuple(self._ends[True]), self._settings.options)
        self.query_one("#plain", ComparePane).end(self.result.plain)
        self.query_one("#drafted", ComparePane).end(self.result.drafted)
        gained = (self.result.ratio or 0) > 1 and self.result.identical
        self._say(self.result.summary(), "bold $text-success" if gained else "bold $text-warning")
        self.app.post_message(ComparisonEnded(self.result.summary()))

    def _all(self) -> list[TurnEnded]:
        return [end for ends in self._ends.values() for end in ends]

    def _pane(self, run: Run) -> ComparePane:
        return self.query_one("#drafted" if run.drafting else "#plain", ComparePane)

    def _doing(self, run: Run) -> str:
        match run.kind:
            case "warm-up":
                return "Warming up: reading the prompt, a few tokens each way."
            case "shown":
                return f"Running {'with' if run.drafting else 'without'} drafting. Esc stops."
            case "repeat":
                return "Running both again: times this short vary. Esc stops."

    def _say(self, text: str, style: str = "") -> None:
        self.query_one("#verdict", Static).update(Content.styled(text, style))
