"""A question with two answers."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from app.tui.keys.keyed_app import KeyedApp
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.key_line import KeyLine


class QuestionScreen(ModalScreen[bool], OpenedScreen[bool]):
    """Gives True for the first answer, False for the second and for Esc."""

    app: KeyedApp

    HELP = """\
A question: {question.yes} and {question.no} answer it; Tab goes from one button to the other, Enter \
presses it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,escape", "answer(False)", "No", id="question.no", tooltip="No"),
        Binding("y", "answer(True)", "Yes", id="question.yes", tooltip="Yes"),
    ]

    def __init__(self, question: str, yes: str, no: str) -> None:
        super().__init__()
        self._question, self._yes, self._no = question, yes, no

    def compose(self) -> ComposeResult:
        with Vertical(id="question"):
            yes, no = (self.app.keys.name(f"question.{answer}") for answer in ("yes", "no"))
            yield Static(Content(self._question))
            with Horizontal():
                yield Button(Content(f"{self._yes} ({yes})"), id="yes", variant="warning")
                yield Button(Content(f"{self._no} ({no})"), id="no", variant="primary")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)
