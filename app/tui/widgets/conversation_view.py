"""Draws the open chat: its messages in the transcript, its numbers and its prompt below."""

from collections.abc import Callable, Sequence

from textual.widget import Widget

from app.chat.answer_log import AnswerLog
from app.chat.open_chat import Kind, OpenChat
from app.engine.events import Piece
from app.history.records import ChatMessage, pieces_of
from app.history.unsent import Unsent
from app.tui.widgets.answer import Answer
from app.tui.widgets.below import Below
from app.tui.widgets.figures import branch_label, stored_line
from app.tui.widgets.live_answer import LiveAnswer
from app.tui.widgets.message import UserMessage
from app.tui.widgets.transcript import Transcript
from app.tui.widgets.unsent_prompts import UnsentPrompts


class ConversationView:
    """Called by the chat after each change: a `ChatView`."""

    def __init__(
        self, chat: OpenChat, transcript: Transcript, below: Below, unsent: UnsentPrompts, *, marks: bool
    ) -> None:
        self.marks = marks
        self._chat = chat
        self._transcript = transcript
        self._below = below
        self._unsent = unsent
        self._live = LiveAnswer()

    def note(self, text: str, kind: Kind = "info") -> None:
        self._transcript.note(text, kind)

    def show_path(self) -> None:
        self._transcript.fill([(m.id, self._factory(m.id)) for m in self._chat.conversation.path])

    def cut(self, message: ChatMessage, *, keep: bool) -> None:
        self._transcript.cut(self._transcript.place_of(message.id) + keep)

    def append(self, prompt: ChatMessage) -> None:
        self._transcript.append(self._factory(prompt.id), prompt.id)

    def begin_answer(self, answer: ChatMessage, log: AnswerLog) -> None:
        """Begin one, or go on in its widget with another pair."""
        shown = next((e for e in self._transcript.entries if e.message_id == answer.id), None)
        if shown is None or not isinstance(shown.widget, LiveAnswer):
            live = self._live = LiveAnswer()
            if shown is None:
                self._transcript.append(lambda: live, answer.id)
            else:
                self._transcript.replace(answer.id, lambda: live)
            if answer.facts is not None and answer.text:
                live.add(pieces_of(answer.text, answer.facts.marks))
        self._below.follow(log)
        self._transcript.follow()

    def grow(self, pieces: Sequence[Piece]) -> None:
        self._live.add(pieces)

    def end_answer(self, answer: ChatMessage) -> None:
        self._transcript.replace(answer.id, self._factory(answer.id))

    def return_prompts(self, prompts: list[Unsent]) -> None:
        self._unsent.return_prompts(prompts)

    def leave_editing(self) -> None:
        self._unsent.leave_editing()

    def open(self, waited: list[Unsent]) -> None:
        self._below.follow(None)
        self.show_path()
        self._unsent.keep(waited)
        self._below.prompt.area.focus()
        self.show()

    def show(self, *, at_once: bool = True) -> None:
        self._below.show(at_once=at_once)

    def show_marks(self, marks: bool) -> None:
        self.marks = marks
        for answer in self._transcript.query(Answer):
            answer.marks = marks

    def _factory(self, message_id: str) -> Callable[[], Widget]:
        return lambda: self._widget(self._chat.conversation.tree[message_id])

    def _widget(self, message: ChatMessage) -> Widget:
        branch = branch_label(self._chat.conversation.tree.branches(message), message)
        if message.facts is None:
            return UserMessage(message.text, [file.name for file in message.attachments], branch)
        pieces = pieces_of(message.text, message.facts.marks)
        return Answer(message.text, pieces, stored_line(message), marks=self.marks, branch=branch)
