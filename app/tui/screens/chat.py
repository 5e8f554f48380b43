"""The chat: prompts in, answers out, one at a time."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer

from app.attachments import attach, mentioned
from app.engine_protocol import TuningEnded
from app.errors import AppError, BadInput
from app.events import PrefillProgressed, TextAdded, TurnEnded, TurnsDropped
from app.history.records import AnswerFacts, Attachment, Chat, ChatMessage, Finish, pieces_of
from app.history.saving import HistoryThread
from app.printable import one_line
from app.tui.answer_in_progress import AnswerInProgress
from app.tui.chat_logs import ChatLogs
from app.tui.conversation import Conversation
from app.tui.engine_link import EngineLink
from app.tui.figures import branch_label, status_items, stored_line
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
from app.tui.settings import Settings
from app.tui.widgets.answer import Answer
from app.tui.widgets.gauges import Gauges
from app.tui.widgets.legend import Legend
from app.tui.widgets.live_answer import LiveAnswer
from app.tui.widgets.prompt import Prompt
from app.tui.widgets.queue_list import QueueList
from app.tui.widgets.status_line import StatusLine
from app.tui.widgets.transcript import Transcript
from app.tui.widgets.user_message import UserMessage
from app.tui.widgets.welcome import Welcome

STATE_SECONDS = 0.25
"""How often the status line follows a growing answer: every piece would cost a few percent of a core."""
HAND_OVER_SECONDS = 0.25
"""How often a growing answer goes to the history: making its value costs more the longer it is."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A prompt written while an answer ran."""

    text: str
    attachments: tuple[Attachment, ...] = ()


class ChatScreen(Screen[None]):
    """Transcript, prompt, numbers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f4,ctrl+t", "toggle_drafting", "Drafting", id="chat.draft", key_display="F4",
                tooltip="Switch drafting on or off for the next answer"),
        Binding("f5,ctrl+r", "app.compare", "Compare", id="chat.compare", key_display="F5",
                tooltip="Run the last prompt without and with drafting, side by side"),
        # Before the prompt, whose own F6 and F7 select text.
        Binding("f6", "app.sessions", "Chats", id="chat.sessions", key_display="F6", priority=True,
                tooltip="All chats: resume, search, rename, archive, delete, export"),
        Binding("f7", "app.resume_last", "Last chat", id="chat.resume_last", show=False, priority=True,
                tooltip="Go on with the chat before this one"),
        Binding("ctrl+n", "new_chat", "New chat", id="chat.new", show=False, tooltip="Begin a new chat"),
        Binding("f3", "toggle_marks", "Marks", id="chat.marks", show=False,
                tooltip="Keep the drafting marks on finished answers, or show them as Markdown"),
        Binding("f8,ctrl+l", "inspect", "Rounds", id="chat.rounds", key_display="F8",
                tooltip="The rounds of an answer one by one: what was drafted, what stood"),
        Binding("f9", "totals", "Totals", id="chat.totals", show=False,
                tooltip="What drafting did in this chat so far"),
        Binding("escape", "stop", "Stop", id="chat.stop", key_display="Esc",
                tooltip="Stop the answer and keep its text"),
    ]  # fmt: skip

    def __init__(self, link: EngineLink, settings: Settings, history: HistoryThread) -> None:
        super().__init__()
        self.link = link
        self.settings = settings
        self.history = history
        self.conversation = Conversation.begin(history, settings)
        self.actions = MessageActions(self)
        self.marks = False
        self.running: AnswerInProgress | None = None
        self.queued: list[Waiting] = []
        self.editing: ChatMessage | None = None
        """The earlier prompt that the next one takes the place of, on a branch of its own."""
        self.unsent = ""
        """What was being written when the earlier prompt came in its place."""
        self._download = ""
        self.logs = ChatLogs()
        """What drafting did, per answer of this chat."""
        self._numbers: PrefillProgressed | TextAdded | TurnEnded | None = None
        self._context_tokens = 0
        self._dropped = 0
        self._state_shown = 0.0

    def compose(self) -> ComposeResult:
        with Transcript():
            yield Welcome()
        yield Legend()
        yield Gauges()
        yield QueueList()
        yield Prompt()
        yield StatusLine()
        yield Footer()

    def on_mount(self) -> None:
        self.prompt.area.focus()
        self.show_pair()
        self.run_worker(self._load_prompts())
        self.set_interval(HAND_OVER_SECONDS, self.save_answer)

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    async def on_prompt_submitted(self, event: PromptSubmitted) -> None:
        if event.text.startswith("/"):
            return  # A command: the app runs it.
        event.stop()
        self.prompt.past.add(event.text)
        try:
            files = await self._mentioned_files(event.text)
        except BadInput as error:
            self.transcript.note(f"{error} Nothing was sent.", "error")
            self.prompt.fill(event.text)
            return
        attached = self.prompt.take_attachments()
        waiting = Waiting(event.text, (*attached, *(file for file in files if file not in attached)))
        if self.running is None:
            self.send(waiting.text, waiting.attachments)
        else:
            self.queued.insert(0 if event.at_once else len(self.queued), waiting)
            if event.at_once:
                self.action_stop()
            self.show_state()

    def send(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Ask the engine; while the pair loads, the answer waits for it."""
        edited, self.editing = self.editing, None
        if edited is not None:
            self.transcript.cut(self.transcript.place_of(edited.id))
            attachments = (*edited.attachments, *attachments)
        prompt = self.conversation.ask(text, attachments, instead_of=edited)
        self.transcript.append(lambda: self._widget(prompt), prompt.id)
        self.answer(prompt, self.settings)

    def answer(self, prompt: ChatMessage, settings: Settings) -> None:
        """Have a prompt answered, beside the answers it may have."""
        options = settings.for_answer()
        message = self.conversation.begin_answer(prompt, AnswerFacts(self.link.pair.name, options))
        live = LiveAnswer()
        self.transcript.show(live, message.id)
        self._begin(prompt, message, live)

    def go_on(self, answer: ChatMessage) -> None:
        """Continue an answer that was stopped."""
        prompt = self.conversation.tree[answer.parent or ""]
        live = LiveAnswer()
        self.transcript.replace(answer.id, lambda: live)
        if answer.facts is not None:
            live.add(pieces_of(answer.text, answer.facts.marks))
        self._begin(prompt, answer, live)

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
            case TextAdded(pieces=pieces) if not running.stopping:
                running.add(pieces)
                running.log.take(message.event)
                self._numbers = message.event
                if time.monotonic() - self._state_shown < STATE_SECONDS:
                    return
            case TurnEnded():
                self._numbers = message.event
                self._context_tokens = message.event.stats.prompt_tokens + message.event.stats.tokens
                finish = "cancelled" if running.stopping else message.event.finish_reason
                self._settle(finish, message.event)
        self.show_state()

    def on_turn_failed(self, message: TurnFailed) -> None:
        running = self.running
        if running is None or running.id != message.turn_id:
            return
        if running.has_grown:
            self.transcript.note(f"{message.text} What was written so far is kept.", "error")
            self._settle("failed")
        else:
            self._give_back(running)
            self.transcript.note(message.text, "error")
        self.show_state()

    def on_pair_loading(self, message: PairLoading) -> None:
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
        self.show_state()

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
        if self.queued:
            waiting = self.queued.pop()
            self.prompt.fill(waiting.text)
            self.prompt.attach(*waiting.attachments)
            self.show_state()

    def action_stop(self) -> None:
        if self.link.tuning is not None:
            self.link.skip_tuning()
        elif self.running is not None:
            self.running.stopping = True
            self.link.cancel(self.running.id)
        elif self.editing is not None:
            self.editing = None
            self.prompt.fill(self.unsent)
            self.transcript.note("The prompt is left as it was.")
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
            self.transcript.scroll_page_up(animate=False)
        else:
            self.transcript.scroll_page_down(animate=False)

    def action_follow(self) -> None:
        self.transcript.follow()

    def action_browse(self) -> None:
        """Let the keys move between messages."""
        self.transcript.focus()
        self.transcript.action_select(0)

    def action_back_to_prompt(self) -> None:
        self.transcript.select_entry(None)
        self.transcript.follow()
        self.prompt.area.focus()

    def action_walk(self, direction: int) -> None:
        self.actions.attempt(lambda: self.actions.walk(direction))

    def action_edit(self) -> None:
        self.actions.attempt(self.actions.edit)

    def action_regenerate(self, seed: str) -> None:
        self.actions.attempt(lambda: self.actions.regenerate(seed))

    def action_continue(self) -> None:
        self.actions.attempt(self.actions.continue_answer)

    def action_copy(self) -> None:
        self.actions.attempt(self.actions.copy)

    def action_copy_code(self) -> None:
        self.actions.attempt(self.actions.copy_code)

    def action_fold(self) -> None:
        self.actions.attempt(self.actions.fold)

    def action_new_chat(self) -> None:
        self.clear()

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
        self.show_state()

    def clear(self) -> None:
        """Begin a new chat; the instructions and options stay."""
        self.open(Conversation.begin(self.history, self.settings, self.conversation.system))

    def resume(self, chat: Chat, messages: Sequence[ChatMessage]) -> None:
        """Go on with a saved chat, with its own instructions and options."""
        self.open(Conversation(self.history, chat, messages))
        self.settings = self.conversation.settings
        path = self.conversation.path
        known = [message.facts for message in path if message.facts is not None]
        facts = known[-1] if known else None
        stats = next((one.stats for one in reversed(known) if one.stats is not None), None)
        if stats is not None:
            self._context_tokens = stats.prompt_tokens + stats.tokens
        if facts is not None and facts.pair != self.link.pair.name:
            pair = one_line(self.link.pair.name)
            self.transcript.note(f"Written with {facts.pair}; {pair} answers from here on. F2 changes it.")
        if path and path[-1].role == "user":
            self.transcript.note("The last prompt was not answered. /regenerate has it answered.", "warning")
        self.show_state()

    def open(self, conversation: Conversation) -> None:
        """Put another chat into view."""
        if self.running is not None:
            self.link.cancel(self.running.id)
            if self.running.has_grown:
                self.conversation.change(self.running.ended("cancelled"))
            elif not self.running.before.text:
                self.conversation.forget(self.running.before)
        self.running, self.queued, self.editing = None, [], None
        self.conversation = conversation
        self.logs.fill(conversation.tree)
        self.query_one(Gauges).follow(None)
        self._numbers, self._context_tokens, self._dropped = None, 0, 0
        self.show_path()
        self.show_state()

    def show_path(self) -> None:
        """Show the branch in view from its end."""
        self.transcript.fill([(m.id, self._maker(m.id)) for m in self.conversation.path])

    def show_pair(self) -> None:
        """Bring everything that tells about the pair and its process up to date."""
        self.query_one(Welcome).show_pair(one_line(self.link.pair.name), self.link.state, self.link.info)
        self.show_state()

    def show_state(self) -> None:
        """Bring the status line and the waiting prompts up to date."""
        self._state_shown = time.monotonic()
        link = self.link
        context = self._context_tokens
        if isinstance(self._numbers, TextAdded):
            context += self._numbers.tokens
        self.query_one(StatusLine).items = status_items(
            one_line(link.pair.name),
            link.state,
            self.settings,
            (context, self.context_limit),
            self._numbers,
            len(self.queued),
            download=self._download,
            stopping=self.running is not None and self.running.stopping,
            tuning=link.tuning,
        )
        self.prompt.others_wait = bool(self.queued)
        self.query_one(QueueList).texts = tuple(waiting.text for waiting in self.queued)
        title = "editing an earlier prompt: Esc leaves it as it was" if self.editing else ""
        self.prompt.area.border_title = title

    def save_answer(self) -> None:
        """Hand what the answer in progress has grown by to the history."""
        running = self.running
        if running is not None and running.unsaved:
            running.unsaved = False
            self.conversation.change(running.message)

    def show_download(self, text: str) -> None:
        """One item in the status line on the downloads that run; empty takes it away."""
        if text != self._download:
            self._download = text
            self.show_state()

    def _begin(self, prompt: ChatMessage, message: ChatMessage, live: LiveAnswer) -> None:
        log = self.logs.begin(message, self.link.pair.name)
        self.query_one(Gauges).follow(log)
        self.transcript.follow()
        self._numbers = None
        assert message.facts is not None
        request = self.link.ask(
            self,
            self.conversation.messages(prompt),
            message.facts.options,
            documents=self.conversation.documents(prompt),
            begun=message.text,
        )
        self.running = AnswerInProgress(request, prompt, message, live, log)
        self.show_state()

    def _settle(self, finish: Finish, event: TurnEnded | None = None) -> None:
        """Replace the live view by one finished widget, and go on with what was queued."""
        running = self.running
        assert running is not None
        running.log.over = True
        message = self.conversation.change(running.ended(finish, event))
        self.running = None
        self.transcript.replace(message.id, self._maker(message.id))
        if self.queued:
            waiting = self.queued.pop(0)
            self.send(waiting.text, waiting.attachments)

    def _give_back(self, running: AnswerInProgress) -> None:
        """What came to nothing is as it was; a prompt returns to where it was written."""
        self.logs.take_back(running.before)
        self.running = None
        if running.before.text:
            self.conversation.change(running.before)
            self.transcript.replace(running.before.id, self._maker(running.before.id))
            return
        waiting, self.queued = list(self.queued), []
        self.conversation.forget(running.before)
        if self.conversation.chat.leaf == running.prompt.id:
            self.conversation.forget(running.prompt)
            waiting.insert(0, Waiting(running.prompt.text, running.prompt.attachments))
        self.show_path()
        if waiting and not self.prompt.area.text:
            self.prompt.fill("\n".join(one.text for one in waiting))
            self.prompt.attach(*(file for one in waiting for file in one.attachments))

    def _maker(self, message_id: str) -> Callable[[], Widget]:
        return lambda: self._widget(self.conversation.tree[message_id])

    def _widget(self, message: ChatMessage) -> Widget:
        branch = branch_label(self.conversation.tree.branches(message), message)
        if message.facts is None:
            return UserMessage(message.text, [file.name for file in message.attachments], branch)
        pieces = pieces_of(message.text, message.facts.marks)
        return Answer(message.text, pieces, stored_line(message), marks=self.marks, branch=branch)

    async def _mentioned_files(self, text: str) -> list[Attachment]:
        """The files named by `@path` in a prompt."""
        paths = mentioned(text)
        limit = self.context_limit
        return await asyncio.to_thread(lambda: [attach(path, limit) for path in paths])

    async def _load_prompts(self) -> None:
        try:
            asked = await asyncio.wrap_future(self.history.ask(lambda history: history.prompts()))
        except AppError:
            return  # the history's thread has told it
        self.prompt.past.begin(asked)
