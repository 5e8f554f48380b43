"""Prompts in, answers out, one at a time; what is sent meanwhile waits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.widget import Widget

from app.chat.chat_logs import ChatLogs
from app.chat.settings import Settings
from app.engine.events import TextAdded, TurnEnded, TurnEvent, TurnsDropped
from app.history.records import AnswerFacts, Attachment, ChatMessage, Finish, pieces_of
from app.tui.answer_in_progress import AnswerInProgress
from app.tui.widgets.gauges import Gauges
from app.tui.widgets.live_answer import LiveAnswer
from models.pairs.pair import PairSpec

if TYPE_CHECKING:
    from app.tui.screens.chat import ChatScreen


@dataclass(frozen=True, slots=True)
class Waiting:
    """A prompt written while an answer ran."""

    text: str
    attachments: tuple[Attachment, ...] = ()


class Answering:
    """Asks the engine and takes its events, for the chat screen it belongs to."""

    def __init__(self, chat: "ChatScreen") -> None:
        self._chat = chat
        self.running: AnswerInProgress | None = None
        self.queued: list[Waiting] = []
        self.logs = ChatLogs()
        """What drafting did, per answer of this chat."""
        self._dropped = 0

    def ask(self, prompt: Waiting, *, at_once: bool) -> None:
        """Send a prompt, or have it wait for the answer in progress; `at_once` ends that one first."""
        if self.running is None:
            self.send(prompt.text, prompt.attachments)
            return
        self.queued.insert(0 if at_once else len(self.queued), prompt)
        if at_once:
            self._skip_tuning()
            self.stop()

    def send(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Ask the engine; while the pair loads, the answer waits for it."""
        chat = self._chat
        edited, chat.editing = chat.editing, None
        in_view = edited is None or edited in chat.conversation.path
        if edited is not None:
            chat.transcript.cut(chat.transcript.place_of(edited.id))
            attachments = (*edited.attachments, *attachments)
        prompt = chat.conversation.ask(text, attachments, instead_of=edited)
        if in_view:
            chat.transcript.append(chat.maker(prompt.id), prompt.id)
        else:  # Another branch was walked to meanwhile.
            chat.show_path()
        self.answer(prompt, chat.settings)

    def answer(self, prompt: ChatMessage, settings: Settings) -> None:
        """Have a prompt answered, beside the answers it may have."""
        chat = self._chat
        facts = AnswerFacts(chat.link.pair.name, settings.for_answer())
        message = chat.conversation.begin_answer(prompt, facts)
        live = LiveAnswer()
        chat.transcript.show(live, message.id)
        self._begin(prompt, message, live)

    def go_on(self, answer: ChatMessage) -> None:
        """Continue an answer that was stopped."""
        prompt = self._chat.conversation.tree[answer.parent or ""]
        live = LiveAnswer()
        self._show_instead(answer, lambda: live)
        if answer.facts is not None:
            live.add(pieces_of(answer.text, answer.facts.marks))
        self._begin(prompt, answer, live)

    def stop(self) -> None:
        """End the answer in progress within a token; its text is kept."""
        if self.running is not None:
            self.running.stopping = True
            self._chat.link.cancel(self.running.id)

    def use(self, pair: PairSpec) -> None:
        """Open another pair: it answers what has no text yet; an answer that has some ends here."""
        link, running = self._chat.link, self.running
        self._skip_tuning()
        if running is None or running.stopping or running.has_grown:
            self.stop()
            link.use(pair)
            return
        link.cancel(running.id)
        link.use(pair)
        message = running.before
        if message.facts is not None and not message.text:
            message = replace(message, facts=replace(message.facts, pair=pair.name))
        self._begin(running.prompt, message, running.live)

    def take(self, turn_id: int, event: TurnEvent) -> None:
        """One event of the answer in progress; those of others are late and left out."""
        running, chat = self.running, self._chat
        if running is None or running.id != turn_id:
            return
        match event:
            case TurnsDropped(count) if count != self._dropped:
                self._dropped = count
                text = f"The context is full: the model does not read the oldest {count} messages."
                chat.transcript.note(text, "warning")
            case TextAdded(pieces=pieces) if not running.stopping:
                running.add(pieces)
                running.log.take(event)
                chat.state.take(event)
            case TextAdded():
                pass
            case TurnEnded():
                if running.stopping:
                    event = replace(event, finish_reason="cancelled", stats=running.log.kept(event.stats))
                chat.state.take(event)
                self._settle(event.finish_reason, event)
            case _:
                chat.state.take(event)
        chat.state.show(at_once=not isinstance(event, TextAdded) or running.stopping)

    def fail(self, turn_id: int, text: str) -> None:
        """The answer in progress ended without a result."""
        running, chat = self.running, self._chat
        if running is None or running.id != turn_id:
            return
        if running.has_grown:
            chat.transcript.note(f"{text} What was written so far is kept.", "error")
            self._settle("failed")
        else:
            self._give_back(running)
            chat.transcript.note(text, "error")
            chat.state.count_context()
        chat.state.show()

    def save(self) -> None:
        """Hand what the answer in progress has grown by to the history."""
        running = self.running
        if running is not None and running.unsaved:
            running.unsaved = False
            self._chat.conversation.change(running.message)

    def leave(self) -> list[Waiting]:
        """Another chat comes into view: the answer in progress ends. Give what waited; nothing does now."""
        running, conversation = self.running, self._chat.conversation
        if running is not None:
            self._chat.link.cancel(running.id)
            if running.has_grown:
                conversation.change(running.ended("cancelled"))
            elif not running.before.text:
                conversation.forget(running.before)
        waited = self.queued
        self.running, self.queued, self._dropped = None, [], 0
        return waited

    def _skip_tuning(self) -> None:
        if self._chat.link.tuning is not None:
            self._chat.link.skip_tuning()

    def _begin(self, prompt: ChatMessage, message: ChatMessage, live: LiveAnswer) -> None:
        chat = self._chat
        log = self.logs.begin(message, chat.link.pair.name)
        chat.query_one(Gauges).follow(log)
        chat.transcript.follow()
        assert message.facts is not None
        options = message.facts.options
        if message.text:  # its own options, but how long it may become is what the person says now
            options = replace(options, max_tokens=chat.settings.options.max_tokens)
        request = chat.link.ask(
            chat,
            chat.conversation.messages(prompt),
            options,
            documents=chat.conversation.documents(prompt),
            begun=message.text,
        )
        self.running = AnswerInProgress(request, prompt, message, live, log, options.max_tokens)
        chat.state.take(None)
        chat.state.show()

    def _settle(self, finish: Finish, event: TurnEnded | None = None) -> None:
        """Replace the live view by one finished widget, and go on with what was queued."""
        running, chat = self.running, self._chat
        assert running is not None
        running.log.over = True
        message = chat.conversation.change(running.ended(finish, event))
        self.running = None
        self._show_instead(message, chat.maker(message.id))
        if self.queued:
            waiting = self.queued.pop(0)
            self.send(waiting.text, waiting.attachments)

    def _give_back(self, running: AnswerInProgress) -> None:
        """What came to nothing is as it was; a prompt returns to where it was written."""
        chat, conversation = self._chat, self._chat.conversation
        self.logs.take_back(running.before)
        self.running = None
        if running.before.text:
            conversation.change(running.before)
            self._show_instead(running.before, chat.maker(running.before.id))
            return
        waiting, self.queued = list(self.queued), []
        conversation.forget(running.before)
        if conversation.chat.leaf == running.prompt.id:
            conversation.forget(running.prompt)
            waiting.insert(0, Waiting(running.prompt.text, running.prompt.attachments))
        chat.show_path()
        if chat.prompt.area.text:
            chat.unsent_prompts.left(waiting)
        elif waiting:
            chat.prompt.fill("\n".join(one.text for one in waiting))
            chat.prompt.attach(*(file for one in waiting for file in one.attachments))

    def _show_instead(self, message: ChatMessage, make: Callable[[], Widget]) -> None:
        self._chat.transcript.replace(message.id, make)
