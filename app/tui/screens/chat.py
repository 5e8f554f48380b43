"""The chat: transcript, prompt, numbers, and what the keys do there."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import Screen
from textual.widget import Widget

from app.chat.attachments import attach, mentioned, mistyped
from app.chat.chat_setup import setup_rows
from app.chat.conversation import Conversation
from app.chat.settings import Settings
from app.engine.protocol import TuningEnded
from app.history.records import Attachment, Chat, ChatMessage, pieces_of
from app.history.saving import HistoryThread
from app.shell.errors import AppError, BadInput
from app.shell.printable import one_line
from app.tui.answer_in_progress import AnswerInProgress
from app.tui.answering import Answering, Waiting
from app.tui.chat_state import STATE_SECONDS, ChatState
from app.tui.engine_link import EngineLink
from app.tui.figures import branch_label, stored_line
from app.tui.message_actions import MessageActions
from app.tui.messages import (
    EngineDied,
    PairFailed,
    PairLoaded,
    PairLoading,
    PairTuning,
    PromptSubmitted,
    TurnAdvanced,
    TurnFailed,
)
from app.tui.screens.inspector import InspectorScreen
from app.tui.screens.totals import TotalsScreen
from app.tui.unsent_prompts import UnsentPrompts
from app.tui.widgets.answer import Answer
from app.tui.widgets.gauges import Gauges
from app.tui.widgets.key_line import KeyLine
from app.tui.widgets.legend import Legend
from app.tui.widgets.prompt import Prompt
from app.tui.widgets.queue_list import QueueList
from app.tui.widgets.status_line import StatusLine
from app.tui.widgets.transcript import Transcript
from app.tui.widgets.user_message import UserMessage
from app.tui.widgets.welcome import Welcome

if TYPE_CHECKING:
    from app.tui.app import ChatApp

HAND_OVER_SECONDS = 0.25
"""How often a growing answer goes to the history: making its value costs more the longer it is."""


class Below(Vertical):
    """What stands under the transcript. Textual draws it with each piece of text: nothing is its own."""

    BLANK = True


class ChatScreen(Screen[None]):
    """Transcript, prompt, numbers."""

    app: "ChatApp"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f4,ctrl+t", "toggle_drafting", "Draft", id="chat.draft",
                tooltip="Switch drafting on or off for the next answer"),
        Binding("f5,ctrl+r", "app.compare", "Compare", id="chat.compare",
                tooltip="Run the last prompt without and with drafting, side by side"),
        # Before the prompt, whose own F6 and F7 select text.
        Binding("f6", "app.sessions", "Chats", id="chat.sessions", priority=True,
                tooltip="All chats: resume, search, rename, archive, delete, export"),
        Binding("f7", "app.command('resume last')", "Last chat", id="chat.resume_last",
                show=False, priority=True, tooltip="Go on with the chat before this one"),
        Binding("ctrl+n", "app.command('new')", "New chat", id="chat.new", show=False,
                tooltip="Begin a new chat"),
        Binding("f3", "toggle_marks", "Marks", id="chat.marks", show=False,
                tooltip="Keep the drafting marks on finished answers, or show them as Markdown"),
        Binding("f8,ctrl+l", "inspect", "Rounds", id="chat.rounds",
                tooltip="The rounds of an answer one by one: what was drafted, what stood"),
        Binding("f9", "totals", "Totals", id="chat.totals", show=False,
                tooltip="This chat: instructions, sampling, what drafting did so far"),
        Binding("escape", "stop", "Stop", id="chat.stop",
                tooltip="Stop the answer and keep its text"),
    ]  # fmt: skip

    BLANK = True
    """Its background is all it draws; without this each line of it would be drawn with every frame."""

    def __init__(self, link: EngineLink, settings: Settings, history: HistoryThread) -> None:
        super().__init__()
        self.link = link
        self.settings = settings
        self.history = history
        self.conversation = Conversation.begin(history, settings)
        self.answering = Answering(self)
        self.state = ChatState(self)
        self.actions = MessageActions(self)
        self.unsent_prompts = UnsentPrompts(self)
        self.marks = False
        self.editing: ChatMessage | None = None
        """The earlier prompt that the next one takes the place of, on a branch of its own."""
        self.unsent = ""
        """What was being written when the earlier prompt came in its place."""
        self.begins_anew = True
        """The program began with a new chat, not with one to go on with."""

    def compose(self) -> ComposeResult:
        with Transcript():
            yield Welcome()
        # Of what lies apart from the transcript, Textual draws nothing while text streams there.
        with Below():
            yield Legend()
            yield Gauges()
            yield QueueList()
            yield Prompt()
            yield StatusLine()
            yield KeyLine()

    def on_mount(self) -> None:
        self.prompt.area.focus()
        self.app.call_later(self.app.take_typed_ahead)
        self.show_pair()
        self.run_worker(self._load_prompts())
        self.set_interval(HAND_OVER_SECONDS, self.answering.save)
        self.set_interval(STATE_SECONDS, self.state.catch_up)

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    @property
    def running(self) -> AnswerInProgress | None:
        """The answer that is being written."""
        return self.answering.running

    async def on_prompt_submitted(self, event: PromptSubmitted) -> None:
        self.prompt.sent(event.text)
        if event.text.startswith("/"):
            return  # A command: the app runs it.
        event.stop()
        try:
            files = await self._mentioned_files(event.text)
        except BadInput as error:
            text = f"{error} Nothing was sent; with a blank after the @ it is sent as text."
            self.transcript.note(text, "error")
            self.prompt.fill(event.text)
            return
        for name in mistyped(event.text):
            self.transcript.note(f"There is no file {name} here: @{name} is sent as text.", "warning")
        attached = self.prompt.take_attachments()
        waiting = Waiting(event.text, (*attached, *(file for file in files if file not in attached)))
        self.answering.ask(waiting, at_once=event.at_once)
        self.state.show()

    def on_turn_advanced(self, message: TurnAdvanced) -> None:
        self.answering.take(message.turn_id, message.event)

    def on_turn_failed(self, message: TurnFailed) -> None:
        self.answering.fail(message.turn_id, message.text)

    def on_pair_loading(self, message: PairLoading) -> None:
        if self.running is None:
            self.state.count_context()
        self.show_pair()

    def on_pair_loaded(self, message: PairLoaded) -> None:
        for note in message.info.notes:
            self.transcript.note(note)
        self.show_pair()

    def on_pair_tuning(self, message: PairTuning) -> None:
        if isinstance(message.event, TuningEnded):
            self.transcript.note(
                "Measuring was skipped: what drafting costs here is learned while answering."
                if message.event.skipped
                else "Measured what drafting costs here: from now on it adapts to the text."
            )
        self.state.show()

    def on_pair_failed(self, message: PairFailed) -> None:
        # An answer that waited for the pair says the same thing.
        if self.running is None:
            self.transcript.note(message.text, "error")
        self.show_pair()

    def on_engine_died(self, message: EngineDied) -> None:
        if not message.while_answering:
            self.transcript.note(message.text, "error")
        self.show_pair()

    def on_prompt_queue_asked_for(self) -> None:
        """Up in an empty prompt: the last waiting one is there again, to be changed or dropped."""
        if self.answering.queued:
            waiting = self.answering.queued.pop()
            self.prompt.fill(waiting.text)
            self.prompt.attach(*waiting.attachments)
            self.state.show()

    def on_prompt_area_queue_sent_at_once(self) -> None:
        """What waits follows the answer in progress."""
        if self.answering.queued:
            self.answering.stop()
            self.state.show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The key that stops is offered where there is something to stop."""
        return action != "stop" or self.can_stop

    @property
    def can_stop(self) -> bool:
        """Something is under way that `action_stop` ends."""
        return self.link.tuning is not None or self.running is not None or self.editing is not None

    def action_stop(self) -> None:
        if self.link.tuning is not None:
            self.link.skip_tuning()
        elif self.running is not None:
            self.answering.stop()
        elif self.editing is not None:
            self._leave_editing()
            self.transcript.note("The prompt is left as it was.")
        self.state.show()

    def action_toggle_drafting(self) -> None:
        self.change_settings(self.settings.switched(not self.settings.drafts))
        self.transcript.note(f"Drafting is {'on' if self.settings.drafts else 'off'} for the next answer.")

    def action_toggle_marks(self) -> None:
        self.show_marks(not self.marks)

    def action_inspect(self) -> None:
        if self.answering.logs:
            self.app.push_screen(InspectorScreen(self.answering.logs))
        else:
            self.transcript.note("There are no rounds to look at yet. Send a prompt first.", "warning")

    def action_totals(self) -> None:
        setup = setup_rows(self.conversation.system, self.settings)
        self.app.push_screen(TotalsScreen(setup, self.answering.logs))

    def action_page(self, direction: int) -> None:
        if self.transcript.max_scroll_y == 0:
            return
        if direction < 0:
            self.transcript.scroll_page_up(animate=False)
        else:
            self.transcript.scroll_page_down(animate=False)

    def action_follow(self) -> None:
        self.transcript.follow()

    def action_browse(self) -> None:
        """Let the keys move between messages."""
        self.transcript.focus()
        self.transcript.action_select(0)

    def action_stop_or_back(self) -> None:
        if self.link.tuning is not None or self.running is not None:
            self.action_stop()
        else:
            self.action_back_to_prompt()

    def action_back_to_prompt(self) -> None:
        self.transcript.select_entry(None)
        self.transcript.follow()
        self.prompt.area.focus()

    def attach(self, path: str) -> Attachment:
        """Have a file go with the next prompt.

        Raises:
            BadInput: it cannot; the message says why.
        """
        found = attach(Path(path), self.context_limit)
        self.prompt.attach(found)
        return found

    @property
    def context_limit(self) -> int | None:
        """Tokens that the loaded pair can read; None until it is known."""
        return self.link.info.context_limit if self.link.info else None

    def show_marks(self, marks: bool) -> None:
        """Show finished answers as marked tokens, or as Markdown."""
        self.marks = marks
        for answer in self.query(Answer):
            answer.marks = marks

    def change_settings(self, settings: Settings) -> None:
        """Take other settings; they hold from the next answer on and belong to the chat."""
        self.settings = settings
        self.conversation.set_up(settings=settings)
        self.state.show()

    def clear(self) -> None:
        """Begin a new chat; the instructions and options stay."""
        self.open(Conversation.begin(self.history, self.settings, self.conversation.system))

    def resume(self, chat: Chat, messages: Sequence[ChatMessage]) -> None:
        """Go on with a saved chat, with its own instructions and options."""
        self.open(Conversation(self.history, chat, messages))
        self.settings = self.conversation.settings
        path = self.conversation.path
        facts = next((message.facts for message in reversed(path) if message.facts is not None), None)
        if facts is not None and facts.pair != self.link.pair.name:
            pair = one_line(self.link.pair.name)
            change = self.app.keys.told("{app.pairs} changes it.")
            self.transcript.note(f"Written with {facts.pair}; {pair} answers from here on. {change}")
        if path and path[-1].role == "user":
            self.transcript.note("The last prompt was not answered. /regenerate has it answered.", "warning")
        self.state.show()

    def stand_at(self, message: ChatMessage) -> None:
        """Bring the branch with this message into view."""
        self.conversation.stand_at(message)
        self.state.count_context()
        self.show_path()
        self.state.show()

    def open(self, conversation: Conversation) -> None:
        """Put another chat into view."""
        waited = self.answering.leave()
        self._leave_editing()
        self.conversation = conversation
        self.answering.logs.fill(conversation.tree)
        self.query_one(Gauges).follow(None)
        self.state.restart()
        self.show_path()
        self.unsent_prompts.left(waited)
        self.prompt.area.focus()
        self.state.show()

    def _leave_editing(self) -> None:
        """What was written before is in the prompt again; Up brings back what was made of the earlier one."""
        if self.editing is not None:
            self.editing = None
            self.unsent_prompts.put_away()
            self.prompt.fill(self.unsent)

    def show_path(self) -> None:
        """Show the branch in view from its end."""
        self.transcript.fill([(m.id, self.maker(m.id)) for m in self.conversation.path])

    def show_pair(self) -> None:
        """Bring everything that tells about the pair and its process up to date."""
        self.query_one(Welcome).show_pair(one_line(self.link.pair.name), self.link.state, self.link.info)
        self.state.show()

    def maker(self, message_id: str) -> Callable[[], Widget]:
        """Makes the widget of a message as it is then."""
        return lambda: self._widget(self.conversation.tree[message_id])

    def _widget(self, message: ChatMessage) -> Widget:
        branch = branch_label(self.conversation.tree.branches(message), message)
        if message.facts is None:
            return UserMessage(message.text, [file.name for file in message.attachments], branch)
        pieces = pieces_of(message.text, message.facts.marks)
        return Answer(message.text, pieces, stored_line(message), marks=self.marks, branch=branch)

    async def _mentioned_files(self, text: str) -> list[Attachment]:
        """The files named by `@path` in a prompt."""
        limit = self.context_limit
        return await asyncio.to_thread(lambda: [attach(path, limit) for path in mentioned(text)])

    async def _load_prompts(self) -> None:
        try:
            asked = await asyncio.wrap_future(self.history.ask(lambda history: history.prompts()))
        except AppError:
            return  # the history's thread has told it
        self.prompt.past.begin(asked)
        if self.begins_anew:
            await self.unsent_prompts.put_back(None)
