"""The last prompt without and with drafting: run one after the other, shown side by side."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from app.chat_prompt import Message
from app.events import PrefillProgressed, TextAdded, TurnEnded
from app.printable import one_line
from app.tui.comparison import Comparison
from app.tui.engine_link import EngineLink
from app.tui.messages import ComparisonEnded, TurnAdvanced, TurnFailed
from app.tui.settings import Settings
from app.tui.widgets.compare_pane import ComparePane

WARM_UP_TOKENS = 8

Phase = Literal["warm-up plain", "warm-up drafted", "plain", "drafted", "done"]

PHASES: tuple[Phase, ...] = ("warm-up plain", "warm-up drafted", "plain", "drafted", "done")


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
        self.phase: Phase = "done"
        self.result: Comparison | None = None
        self._conversation = tuple(messages)
        self._settings = settings
        self._turn_id = 0
        self._ends: dict[Phase, TurnEnded] = {}

    def compose(self) -> ComposeResult:
        prompt = one_line(self._conversation[-1]["content"])
        yield Static(Content.assemble(("Compare  ", "bold"), prompt), id="compare-prompt")
        with Container(id="panes"):
            yield ComparePane("Without drafting", "plain")
            yield ComparePane("With drafting", "drafted")
        yield Static(id="verdict")
        yield Footer()

    def on_mount(self) -> None:
        self._begin("warm-up plain")

    def on_turn_advanced(self, message: TurnAdvanced) -> None:
        if message.turn_id != self._turn_id or self.phase == "done":
            return
        match message.event:
            case PrefillProgressed(done, total):
                self._say(f"Reading the prompt: {done} of {total} tokens.")
            case TextAdded() if self._pane is not None:
                self._pane.add(message.event)
            case TurnEnded():
                self._end_phase(message.event)

    def on_turn_failed(self, message: TurnFailed) -> None:
        if message.turn_id == self._turn_id and self.phase != "done":
            self.phase = "done"
            self._say(f"✗ {message.text}", "$text-error")

    def action_stop(self) -> None:
        if self.phase == "done":
            self.dismiss()
        else:
            self.link.cancel(self._turn_id)

    async def action_again(self) -> None:
        if self.phase == "done":
            self._ends.clear()
            await self.recompose()
            self._begin("warm-up plain")

    @property
    def _pane(self) -> ComparePane | None:
        return self.query_one(f"#{self.phase}", ComparePane) if self.phase in ("plain", "drafted") else None

    def _begin(self, phase: Phase) -> None:
        self.phase = phase
        options = self._settings.for_answer(drafting=phase.endswith("drafted"))
        if phase.startswith("warm-up"):
            options = replace(options, max_tokens=min(WARM_UP_TOKENS, options.max_tokens))
            self._say("Warming up: reading the prompt, a few tokens each way.")
        else:
            self._say(f"Running {'with' if phase == 'drafted' else 'without'} drafting. Esc stops.")
        self._turn_id = self.link.ask(self, self._conversation, options)

    def _end_phase(self, event: TurnEnded) -> None:
        if self._pane is not None:
            self._pane.end(event)
            self._ends[self.phase] = event
        if event.finish_reason == "cancelled":
            self.phase = "done"
            self._say("Stopped. F5 runs it again, Esc goes back.", "$text-warning")
            return
        following = PHASES[PHASES.index(self.phase) + 1]
        if following == "done":
            self._judge()
        else:
            self._begin(following)

    def _judge(self) -> None:
        self.phase = "done"
        self.result = Comparison(self._ends["plain"], self._ends["drafted"], self._settings.options)
        gained = (self.result.ratio or 0) > 1 and self.result.identical
        self._say(self.result.summary(), "bold $text-success" if gained else "bold $text-warning")
        self.app.post_message(ComparisonEnded(self.result.summary()))

    def _say(self, text: str, style: str = "") -> None:
        self.query_one("#verdict", Static).update(Content.styled(text, style))
