"""The chat: prompts in, answers out, one at a time."""

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from app.events import PrefillProgressed, TextAdded, TurnEnded, TurnsDropped
from app.printable import one_line
from app.tui.answer_log import AnswerLog
from app.tui.conversation import Conversation, Turn
from app.tui.engine_link import EngineLink
from app.tui.figures import stats_line, status_items
from app.tui.messages import (
    EngineDied,
    PairFailed,
    PairLoaded,
    PairLoading,
    PromptSubmitted,
    TurnAdvanced,
    TurnFailed,
)
from app.tui.screens.inspector import InspectorScreen
from app.tui.screens.totals import TotalsScreen
from app.tui.settings import Settings
from app.tui.widgets.answer import Answer
from app.tui.widgets.gauges import Gauges
from app.tui.widgets.legend import Legend
from app.tui.widgets.live_answer import LiveAnswer
from app.tui.widgets.prompt import Prompt
from app.tui.widgets.status_line import StatusLine
from app.tui.widgets.transcript import Transcript
from app.tui.widgets.user_message import UserMessage
from app.tui.widgets.welcome import Welcome


@dataclass(slots=True)
class Running:
    """The answer in progress."""

    id: int
    turn: Turn
    live: LiveAnswer
    log: AnswerLog
    stopping: bool = False
    """The person asked for its end."""
    text: str = ""
    """As the model gave it; the live view shows control characters as signs."""


class ChatScreen(Screen[None]):
    """Transcript, prompt, numbers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f4,ctrl+t", "toggle_drafting", "Drafting", id="chat.draft", key_display="F4",
                tooltip="Switch drafting on or off for the next answer"),
        Binding("f5,ctrl+r", "app.compare", "Compare", id="chat.compare", key_display="F5",
                tooltip="Run the last prompt without and with drafting, side by side"),
        Binding("f3", "toggle_marks", "Marks", id="chat.marks", show=False,
                tooltip="Keep the drafting marks on finished answers, or show them as Markdown"),
        Binding("f8,ctrl+l", "inspect", "Rounds", id="chat.rounds", key_display="F8",
                tooltip="The rounds of an answer one by one: what was drafted, what stood"),
        Binding("f9", "totals", "Totals", id="chat.totals", show=False,
                tooltip="What drafting did in this chat so far"),
        Binding("escape", "stop", "Stop", id="chat.stop", key_display="Esc",
                tooltip="Stop the answer and keep its text"),
    ]  # fmt: skip

    def __init__(self, link: EngineLink, settings: Settings) -> None:
        super().__init__()
        self.link = link
        self.settings = settings
        self.conversation = Conversation()
        self.marks = False
        self.running: Running | None = None
        self.queued: list[str] = []
        self.logs: list[AnswerLog] = []
        """What drafting did, per answer of this chat."""
        self._numbers: PrefillProgressed | TextAdded | TurnEnded | None = None
        self._context_tokens = 0
        self._dropped = 0

    def compose(self) -> ComposeResult:
        with Transcript():
            yield Welcome()
        yield Legend()
        yield Gauges()
        yield Prompt()
        yield StatusLine()
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(Prompt).area.focus()
        self.show_pair()

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    def on_prompt_submitted(self, event: PromptSubmitted) -> None:
        if event.text.startswith("/"):
            return  # A command: the app runs it.
        event.stop()
        if self.running is None:
            self.send(event.text)
        else:
            self.queued.append(event.text)
            self.transcript.note(f"Queued until this answer ends: {_shortened(event.text)}")
            self.show_state()

    def send(self, prompt: str) -> None:
        """Ask the engine; while the pair loads, the answer waits for it."""
        turn = Turn(prompt)
        self.conversation.turns.append(turn)
        live, log = LiveAnswer(), AnswerLog()
        self.logs.append(log)
        self.query_one(Gauges).follow(log)
        self.transcript.show(UserMessage(prompt))
        self.transcript.show(live)
        self.transcript.anchor()
        self._numbers = None
        turn_id = self.link.ask(self, self.conversation.messages(), self.settings.for_answer())
        self.running = Running(turn_id, turn, live, log)
        self.show_state()

    def on_turn_advanced(self, message: TurnAdvanced) -> None:
        running = self.running
        if running is None or running.id != message.turn_id:
            return
        match message.event:
            case PrefillProgressed(total=total):
                self._context_tokens = total
                self._numbers = message.event
            case TurnsDropped(count) if count != self._dropped:
                self._dropped = count
                self.transcript.note(
                    f"The context is full: the model does not read the oldest {count} messages.", "warning"
                )
            case TextAdded(pieces=pieces):
                running.text += "".join(piece.text for piece in pieces)
                running.live.add(pieces)
                running.log.take(message.event)
                self._numbers = message.event
            case TurnEnded():
                running.log.ended = message.event
                self._numbers = message.event
                self._context_tokens = message.event.stats.prompt_tokens + message.event.stats.tokens
                self._settle(message.event.text, stats_line(message.event))
        self.show_state()

    def on_turn_failed(self, message: TurnFailed) -> None:
        running = self.running
        if running is None or running.id != message.turn_id:
            return
        if running.text:
            self.transcript.note(f"{message.text} What was written so far is kept.", "error")
            self._settle(running.text, "incomplete")
        else:
            self.transcript.note(message.text, "error")
            self._give_back(running)
        self.show_state()

    def on_pair_loading(self, message: PairLoading) -> None:
        self.show_pair()

    def on_pair_loaded(self, message: PairLoaded) -> None:
        for note in message.info.notes:
            self.transcript.note(note)
        self.show_pair()

    def on_pair_failed(self, message: PairFailed) -> None:
        # An answer that waited for the pair says the same thing.
        if self.running is None:
            self.transcript.note(message.text, "error")
        self.show_pair()

    def on_engine_died(self, message: EngineDied) -> None:
        if not message.while_answering:
            self.transcript.note(message.text, "error")
        self.show_pair()

    def action_stop(self) -> None:
        if self.running is not None:
            self.running.stopping = True
            self.link.cancel(self.running.id)
            self.show_state()

    def action_toggle_drafting(self) -> None:
        self.change_settings(self.settings.switched(not self.settings.drafts))
        self.transcript.note(f"Drafting is {'on' if self.settings.drafts else 'off'} for the next answer.")

    def action_toggle_marks(self) -> None:
        self.show_marks(not self.marks)

    def action_inspect(self) -> None:
        if self.logs:
            self.app.push_screen(InspectorScreen(self.logs))
        else:
            self.transcript.note("There are no rounds to look at yet. Send a prompt first.", "warning")

    def action_totals(self) -> None:
        self.app.push_screen(TotalsScreen(self.logs))

    def action_page(self, direction: int) -> None:
        if self.transcript.max_scroll_y == 0:
            return
        if direction < 0:
            self.transcript.scroll_page_up()
        else:
            self.transcript.scroll_page_down()

    def action_follow(self) -> None:
        self.transcript.anchor()

    def show_marks(self, marks: bool) -> None:
        """Show finished answers as marked tokens, or as Markdown."""
        self.marks = marks
        for answer in self.query(Answer):
            answer.marks = marks

    def change_settings(self, settings: Settings) -> None:
        """Take other settings; they hold from the next answer on."""
        self.settings = settings
        self.show_state()

    def clear(self) -> None:
        """Begin a new conversation; the instructions stay."""
        self.action_stop()
        self.running, self.queued = None, []
        self.conversation.turns.clear()
        self.logs.clear()
        self.query_one(Gauges).follow(None)
        self._numbers, self._context_tokens, self._dropped = None, 0, 0
        self.transcript.query("Transcript > *").exclude("Welcome").remove()
        self.show_state()

    def show_pair(self) -> None:
        """Bring everything that tells about the pair and its process up to date."""
        self.query_one(Welcome).show_pair(one_line(self.link.pair.name), self.link.state, self.link.info)
        self.show_state()

    def show_state(self) -> None:
        """Bring the status line up to date."""
        link = self.link
        context = self._context_tokens
        if isinstance(self._numbers, TextAdded):
            context += self._numbers.tokens
        self.query_one(StatusLine).items = status_items(
            one_line(link.pair.name),
            link.state,
            self.settings,
            (context, link.info.context_limit if link.info else None),
            self._numbers,
            len(self.queued),
            stopping=self.running is not None and self.running.stopping,
        )

    def _settle(self, text: str, stats: str) -> None:
        """Replace the live view by one finished widget, and go on with what was queued."""
        running = self.running
        assert running is not None
        running.turn.answer = text
        self.running = None
        self.transcript.mount(Answer(text, running.live.pieces, stats, marks=self.marks), after=running.live)
        running.live.remove()
        if self.queued:
            self.send(self.queued.pop(0))

    def _give_back(self, running: Running) -> None:
        """A prompt that came to nothing returns to where it was written."""
        self.conversation.forget(running.turn)
        self.logs.remove(running.log)
        self.running = None
        running.live.remove()
        waiting = [running.turn.prompt, *self.queued]
        self.queued = []
        prompt = self.query_one(Prompt)
        if not prompt.area.text:
            prompt.fill("\n".join(waiting))


def _shortened(text: str, limit: int = 60) -> str:
    line = one_line(text)
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
