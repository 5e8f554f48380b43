"""What draws a chat, as the chat knows it."""

from collections.abc import Sequence
from typing import Literal, Protocol

from app.chat.answer_log import AnswerLog
from app.engine.events import Piece
from app.history.records import ChatMessage
from app.history.unsent import Unsent

Kind = Literal["info", "mistake", "warning", "error"]
"""A mistake is a person's: what was typed cannot be done, and is typed anew."""


class ChatView(Protocol):
    """The chat calls it after each change; it reads everything else from the chat."""

    def note(self, text: str, kind: Kind = "info") -> None:
        """Say something that the program itself has to say."""

    def offer(self, text: str) -> None:
        """Say beside a new chat how to go on with another one."""

    def show_path(self) -> None:
        """Another branch is in view."""

    def cut(self, message: ChatMessage, *, keep: bool) -> None:
        """What follows a message goes, and where it is not kept, the message too."""

    def append(self, prompt: ChatMessage) -> None:
        """A prompt was added at the end."""

    def begin_answer(self, answer: ChatMessage, log: AnswerLog) -> None:
        """An answer grows from here on, from the text it has."""

    def grow(self, pieces: Sequence[Piece]) -> None: ...

    def end_answer(self, answer: ChatMessage) -> None: ...

    def return_prompts(self, prompts: list[Unsent]) -> None:
        """These came to nothing: they return to where they were written."""

    def leave_editing(self) -> None:
        """An earlier prompt is no longer edited: what was written before it is there again."""

    def open(self, waited: list[Unsent]) -> None:
        """Another chat is in view; these waited in the one before."""

    def show(self, *, at_once: bool = True) -> None:
        """Numbers or settings changed; if not `at_once`, it may wait for a good moment."""
