"""The interface through which a chat is drawn."""

from collections.abc import Sequence
from typing import Literal, Protocol

from app.engine.events import Piece
from app.history.records import ChatMessage
from app.history.unsent import Unsent

Kind = Literal["info", "mistake", "warning", "error"]
"""`mistake`: what the person typed cannot be done and should be corrected."""


class ChatView(Protocol):
    """Called by the chat after each change; it reads everything else from the chat."""

    def note(self, text: str, kind: Kind = "info", *, seen: bool = False) -> None:
        """Show a message from the program; one that was `seen` is only kept."""

    def offer(self, text: str) -> None:
        """Show in a new chat how to resume another one."""

    def show_path(self) -> None:
        """Other messages are in view."""

    def begin_answer(self, answer: ChatMessage) -> None:
        """An answer begins, after a prompt that may be new, or is continued from the text it has."""

    def grow(self, pieces: Sequence[Piece]) -> None: ...

    def end_answer(self, answer: ChatMessage) -> None: ...

    def return_prompts(self, waited: list[Unsent]) -> None:
        """Put prompts that could not be answered back into the input."""

    def leave_editing(self) -> None:
        """Editing an earlier prompt ended: restore the input as it was before."""

    def sent_edited(self) -> None:
        """The edited prompt was sent: return what was being written before, if the input is empty."""

    def leave_unkept(self) -> None:
        """A chat that is not kept is left for one that is: empty the input, which would be saved."""

    def keep(self, waited: list[Unsent]) -> None:
        """The chat is left, and these prompts that wait in it are not sent."""

    def open(self) -> None:
        """Another chat is in view."""

    def show(self) -> None:
        """Numbers or settings changed, other than by the growth of an answer."""
