"""Questions: with two answers, or answered with one line."""

from typing import Any

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Static

from app.shell.printable import one_line
from app.tui.keys.keymap import bind
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.field import Field


async def ask(app: App[Any], question: str, yes: str, no: str) -> bool:
    """Show a question with two answers; True for the first. Await it in a worker."""
    return bool(await app.push_screen_wait(QuestionScreen(question, yes, no)))


class QuestionScreen(ModalScreen[bool], OpenedScreen[bool]):
    """Returns True for the first answer, False for the second and for Esc."""

    AUTO_FOCUS = "#no"
    """Not yes: Enter right behind the key that asks would press it."""

    HELP = """\
A question: {question.yes} and {question.no} answer it; Tab goes from one button to the other, Enter \
presses it."""

    BINDINGS = [
        bind("n,escape", "dismiss(False)", "No", "question.no", "No"),
        bind("y", "dismiss(True)", "Yes", "question.yes", "Yes"),
    ]

    def __init__(self, question: str, yes: str, no: str) -> None:
        super().__init__()
        self._question, self._yes, self._no = question, yes, no

    def parts(self) -> ComposeResult:
        with Vertical(id="question"):
            yes, no = (self.app.keys.name(f"question.{answer}") for answer in ("yes", "no"))
            yield Static(Content(self._question))
            with Horizontal():
                yield Button(Content(f"{self._yes} ({yes})"), id="yes", variant="warning")
                yield Button(Content(f"{self._no} ({no})"), id="no", variant="primary")

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    def show_lost(self, what: str) -> None:
        """In the frame: toasts, which would cover the question, are not shown here."""
        self.query_one("#question").border_subtitle = what

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")


class LineQuestionScreen(ModalScreen[str | None], OpenedScreen[str | None]):
    """A question, and below it a line that answers it; None after Esc or if it is empty."""

    KEYS = "Enter takes it, {title.leave} leaves it as it was."
    HELP = f"One line to fill in: {KEYS}"

    BINDINGS = [bind("escape", "dismiss(None)", "Leave it", "title.leave", "Leave it as it was")]

    def __init__(self, question: str, value: str) -> None:
        super().__init__()
        self._question, self._value = question, value

    def parts(self) -> ComposeResult:
        with Vertical(id="question"):
            yield Static(Content(self._question))
            # Ctrl+C copies a selection, but closes the dialog if there is none.
            yield Field(one_line(self._value), select_on_focus=False)
            yield Static(Content.styled(self.app.keys.fill_in(self.KEYS), "$text-muted"))

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input))  # `focus()` would set it behind keys that come at once

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)
