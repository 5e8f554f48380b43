"""The open chat: one answer at a time; prompts sent meanwhile wait."""

from collections.abc import Sequence
from dataclasses import replace

from app.chat.answer_in_progress import AnswerInProgress
from app.chat.answer_log import AnswerLog
from app.chat.chat_view import ChatView
from app.chat.context_in_use import ContextInUse
from app.chat.conversation import Conversation
from app.chat.engine_link import STARTS_AGAIN, Asker, EngineLink, RequestEvent
from app.chat.settings import Settings
from app.engine.events import TextAdded, TurnEnded, TurnEvent, TurnsDropped
from app.engine.protocol import Answer, Answered, AnswerFailed
from app.history.records import AnswerFacts, Attachment, Chat, ChatMessage, Finish
from app.history.saving import HistoryThread
from app.history.unsent import Unsent
from models.pairs.pair import PairSpec

NOT_KEPT = "This chat is temporary: nothing of it is written to disk. /new begins one that is saved."


class OpenChat:
    """Holds the conversation, settings, answer in progress and waiting prompts. A view draws it."""

    view: ChatView
    """Must be set before the first request."""

    def __init__(
        self,
        link: EngineLink,
        settings: Settings,
        history: HistoryThread,
        asker: Asker,
        *,
        is_kept: bool = True,
    ) -> None:
        """`asker` queues the engine's events for `take_event`; `is_kept`: the first chat is saved."""
        self.link = link
        self.defaults = self.settings = settings
        self.history = history
        self.conversation = Conversation.begin(history, settings, is_kept=is_kept)
        self.running: AnswerInProgress | None = None
        self.queued: list[Unsent] = []
        self.editing: ChatMessage | None = None
        """The earlier prompt being edited: the next one replaces it, on a new branch."""
        self.logs: dict[str, AnswerLog] = {}
        """By answer of this chat, in the order they began; of saved answers those with rounds."""
        self.context = ContextInUse()
        self._asker = asker
        self._dropped = 0

    @property
    def can_stop(self) -> bool:
        """Whether drafting is being measured, or an answer is in progress that is not stopping."""
        return self.link.tuning is not None or (self.running is not None and not self.running.stopping)

    def with_rounds(self) -> list[AnswerLog]:
        """The logs of answers that have rounds or are in progress."""
        return [log for log in self.logs.values() if log.rounds or not log.over]

    def log_in_view(self) -> AnswerLog | None:
        """The last of them in the branch in view; if it has none, the last of all."""
        logs = self.with_rounds()
        in_view = (self.logs.get(message.id) for message in reversed(self.conversation.path))
        return next((log for log in in_view if log in logs), logs[-1] if logs else None)

    @property
    def context_limit(self) -> int | None:
        """Context length of the loaded pair in tokens; None until known."""
        return self.link.info.context_limit if self.link.info else None

    def ask(self, prompt: Unsent, *, at_once: bool) -> None:
        if self.running is None:
            self.send(prompt.text, prompt.attachments)
        else:
            self.queued.insert(0 if at_once else len(self.queued), prompt)
            if at_once:
                self.link.skip_tuning()
                self.stop_answer()
        self.view.show()

    def send(self, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Ask the engine; while the pair loads, the answer waits for it."""
        edited, self.editing = self.editing, None
        prompt = self.conversation.ask(text, attachments, instead_of=edited)
        if edited is not None:
            self.view.sent_edited()
        self.answer(prompt, self.settings)

    def answer(self, prompt: ChatMessage, settings: Settings) -> None:
        facts = AnswerFacts(self.link.pair.name, settings.for_answer())
        self._begin(prompt, self.conversation.begin_answer(prompt, facts))

    def go_on(self, answer: ChatMessage) -> None:
        self._begin(self.conversation.tree[answer.parent], answer)

    def stop(self) -> None:
        """End what is in progress: measuring, an answer, or the edit of an earlier prompt."""
        if self.link.tuning is not None:
            self.link.skip_tuning()
        elif self.running is not None:
            self.stop_answer()
        elif self.editing is not None:
            self._leave_editing()
            self.view.note("The prompt is left as it was.")
        self.view.show()

    def stop_answer(self) -> None:
        """End the answer in progress within a token; its text is kept."""
        if self.running is not None:
            self.running.stopping = True
            self.link.cancel(self.running.id)

    def take_back(self) -> Unsent | None:
        """The last waiting prompt, which waits no longer."""
        waiting = self.queued.pop() if self.queued else None
        self.view.show()
        return waiting

    def send_queued_at_once(self) -> None:
        """Stop the answer in progress, so that the next waiting prompt is sent."""
        if self.queued:
            self.stop_answer()
            self.view.show()

    def use(self, pair: PairSpec) -> None:
        """Open another pair. An answer with new text ends; one without is asked again of the new pair."""
        running = self.running
        if running is None or running.stopping or running.has_grown:
            self.stop_answer()
            self.link.use(pair)
            return
        self.link.cancel(running.id)
        self.link.use(pair)
        message = running.before
        if message.facts is not None and not message.text:
            message = replace(message, facts=replace(message.facts, pair=pair.name))
        self._begin(running.prompt, message)

    def change_settings(self, settings: Settings) -> None:
        self.settings = settings
        self.conversation.set_up(settings=settings)
        self.view.show()

    def instruct(self, system: str) -> None:
        self.conversation.set_up(system=system)
        self.view.show()

    def clear(self, *, keeps_settings: bool = False, is_kept: bool = True) -> None:
        """Begin a new chat, with the program's initial settings or those of this chat."""
        settings = self.settings if keeps_settings else self.defaults
        system = self.conversation.system if keeps_settings else ""
        self.settings = settings.of_new_chat()
        self._open(Conversation.begin(self.history, self.settings, system, is_kept=is_kept))

    @property
    def own_settings(self) -> list[str]:
        """The settings of the next answer that differ from the defaults, in words."""
        instructions = ["instructions"] if self.conversation.system else []
        return [*self.settings.differences(self.defaults), *instructions]

    def resume(self, chat: Chat, messages: Sequence[ChatMessage]) -> None:
        """Go on with a saved chat, with its own instructions and options."""
        self._open(Conversation(self.history, chat, messages))
        self.settings = Settings(chat.options, chat.drafting, chat.keeps_seed)
        self.view.show()

    def show_branch(self, message: ChatMessage) -> None:
        self.conversation.show_branch(message)
        self.count_context()
        self.view.show_path()
        self.view.show()

    def count_context(self) -> None:
        """Recount after the branch in view or the pair has changed."""
        self.context.count(self.conversation, self.link.pair.name)

    def take_event(self, event: RequestEvent) -> None:
        """Handle a request's event; one of an answer no longer in progress is ignored."""
        running = self.running
        if running is None or running.id != event.id:
            return
        if isinstance(event, Answered):
            self._advance(running, event.event)
        elif isinstance(event, AnswerFailed):
            self._fail(running, f"{event.message} {STARTS_AGAIN}" if event.died else event.message)

    def save(self) -> None:
        running = self.running
        if running is not None and running.unsaved:
            running.unsaved = False
            self.conversation.change(running.message())

    def _open(self, conversation: Conversation) -> None:
        if (running := self.running) is not None:
            self.link.cancel(running.id)
            if running.has_grown:
                self.conversation.change(running.ended("cancelled"))
            elif not running.before.text:
                self.conversation.forget(running.before)
        self.view.keep(self.queued)
        self.queued, self.running, self._dropped = [], None, 0
        self._leave_editing()
        if conversation.is_kept and not self.conversation.is_kept:
            self.view.leave_unkept()
        self.conversation = conversation
        self.logs.clear()
        for message in conversation.tree.values():
            self._put_saved_log(message)
        self.count_context()
        self.view.open()

    def _leave_editing(self) -> None:
        if self.editing is not None:
            self.editing = None
            self.view.leave_editing()

    def _put_saved_log(self, answer: ChatMessage) -> None:
        if answer.facts is not None and answer.facts.rounds:
            self.logs[answer.id] = AnswerLog(answer.facts.pair, answer, over=True)
        else:
            self.logs.pop(answer.id, None)

    def _begin(self, prompt: ChatMessage, message: ChatMessage) -> None:
        self.logs[message.id] = log = AnswerLog(self.link.pair.name, message)
        self.view.begin_answer(message)
        assert message.facts is not None
        options = message.facts.options
        if message.text:  # a continued answer keeps its options, except for the limit set now
            options = replace(options, max_tokens=self.settings.options.max_tokens)
        messages, documents = self.conversation.messages(prompt), self.conversation.documents(prompt)
        asked = Answer(0, tuple(messages), options, tuple(documents), begun=message.text)
        request = self.link.send(self._asker, asked)
        self.running = AnswerInProgress(request, prompt, message, log, options.max_tokens)
        self.count_context()  # estimated, until the engine counts the prompt
        self.view.show()

    def _advance(self, running: AnswerInProgress, event: TurnEvent) -> None:
        match event:
            case TurnsDropped(count):
                if count != self._dropped:
                    self._dropped = count
                    why = "The chat is long: to leave room for the answer,"
                    self.view.note(f"{why} its oldest {count} messages are not read.", "warning")
            case TextAdded(pieces=pieces):
                if not running.stopping:
                    running.add(event)
                    self.view.grow(pieces)
                    self.context.take(event)
            case TurnEnded(finish_reason="cancelled") if not running.stopping:
                self._fail(running, "The server ended this answer.")
            case TurnEnded():
                if running.stopping or running.before.text:
                    event = replace(event, stats=running.log.stats(event.stats))
                if running.stopping:
                    event = replace(event, finish_reason="cancelled")
                self.context.take(event)
                self._settle(running, event.finish_reason, event)
            case _:
                self.context.take(event)
        if not isinstance(event, TextAdded):
            self.view.show()

    def _fail(self, running: AnswerInProgress, text: str) -> None:
        if running.has_grown:
            self.view.note(f"{text} What was written so far is kept.", "error")
            self._settle(running, "failed")
        else:
            self._give_back(running)
            self.view.note(text, "error")
            self.count_context()
        self.view.show()

    def _settle(self, running: AnswerInProgress, finish: Finish, event: TurnEnded | None = None) -> None:
        running.log.over = True
        message = self.conversation.change(running.ended(finish, event))
        self.running = None
        self.view.end_answer(message)
        if self.queued:
            waiting = self.queued.pop(0)
            self.send(waiting.text, waiting.attachments)

    def _give_back(self, running: AnswerInProgress) -> None:
        conversation, before = self.conversation, running.before
        self._put_saved_log(before)
        self.running = None
        if before.text:
            conversation.change(before)
            self.view.end_answer(before)
            return
        waiting, self.queued = self.queued, []
        conversation.forget(before)
        if conversation.chat.leaf == running.prompt.id:
            conversation.forget(running.prompt)
            waiting.insert(0, Unsent(running.prompt.text, running.prompt.attachments))
        self.view.show_path()
        self.view.return_prompts(waiting)
