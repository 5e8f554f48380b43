"""Draws the open chat: its messages in the transcript, its numbers and its prompt below."""

from collections.abc import Sequence

from app.chat.chat_view import Kind
from app.chat.open_chat import OpenChat
from app.engine.events import Piece
from app.history.records import ChatMessage, pieces_of
from app.tui.widgets.answer import Answer
from app.tui.widgets.below import Below
from app.tui.widgets.figures import branch_label, stored_line
from app.tui.widgets.message import Message, UserMessage
from app.tui.widgets.notices import Notices
from app.tui.widgets.transcript import Transcript
from app.tui.widgets.unsent_prompts import UnsentPrompts


class ConversationView:
    """Called by the chat after each change: a `ChatView`."""

    def __init__(
        self, chat: OpenChat, transcript: Transcript, below: Below, unsent: UnsentPrompts, *, marks: bool
    ) -> None:
        self._chat = chat
        self._transcript = transcript
        self._below = below
        self.return_prompts, self.keep = unsent.return_prompts, unsent.keep
        self.leave_editing, self.sent_edited = unsent.leave_editing, unsent.sent_edited
        self.leave_unkept = unsent.leave_unkept
        self._live, self._live_id = Answer(), ""
        """The growing answer and its message's id; the id is empty if none grows."""
        transcript.make = self._widget
        self.notices = Notices()
        self.show_marks(marks)

    def note(self, text: str, kind: Kind = "info", *, seen: bool = False) -> None:
        pull = f"pull {self._chat.link.pair.name}"  # errors of the engine name the command line's
        text = text.replace(f"mlx-spec {pull}", f"/{pull}")
        self.notices.add(self._transcript.app, text, kind, seen=seen)

    def offer(self, text: str) -> None:
        self._transcript.welcome.show_offer(text)

    def show_path(self) -> None:
        self._transcript.fill([message.id for message in self._chat.conversation.path])

    def begin_answer(self, answer: ChatMessage) -> None:
        """Begin an answer, or continue in its widget with another pair."""
        if answer.id != self._live_id:
            self._live = Answer(self._pieces(answer), marks=self.marks, growing=True)
            self._live_id = answer.id
            self._transcript.renew(answer.id)
        self.show_path()
        if self._transcript.has_focus and self._transcript.selected is None:
            self._transcript.select(answer.id)  # its keys go on; they are about this one

    def grow(self, pieces: Sequence[Piece]) -> None:
        self._live.add(pieces)

    def end_answer(self, answer: ChatMessage) -> None:
        self._live.end(self._pieces(answer), stored_line(answer), self._branch(answer))
        self._live_id = ""

    def open(self) -> None:
        self._live_id = ""
        if self._transcript.widgets:  # what was said is about another chat
            self.notices.clear_read(self._transcript.app, unless=["error"])
        self._transcript.fill([])  # an imported chat may have the ids of another
        self.show_path()
        self._below.prompt.area.focus()
        self.show()

    def show(self) -> None:
        self._below.show()

    def show_marks(self, marks: bool) -> None:
        self.marks = marks
        self._below.legend.set_class(not marks, "-off")
        for answer in self._transcript.query(Answer):
            answer.marks = marks

    def _widget(self, message_id: str) -> Message:
        if message_id == self._live_id:
            return self._live
        message = self._chat.conversation.tree[message_id]
        if message.facts is None:
            return UserMessage(message, self._branch(message))
        pieces = self._pieces(message)
        return Answer(pieces, stored_line(message), self._branch(message), marks=self.marks)

    def _branch(self, message: ChatMessage) -> str:
        return branch_label(self._chat.conversation.tree.branches(message), message)

    def _pieces(self, message: ChatMessage) -> Sequence[Piece]:
        return pieces_of(message.text, message.facts.marks if message.facts else "")
