"""A question that is answered with one line."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from app.shell.printable import one_line
from app.tui.keys.keyed_app import KeyedApp
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.key_line import KeyLine


class LineQuestionScreen(ModalScreen[str | None], OpenedScreen[str | None]):
    """Gives the line, or None after Esc or for an empty one."""

    app: KeyedApp

    HELP = "One line to fill in: Enter takes it, {title.leave} leaves it as it was."

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "Leave it", id="title.leave", tooltip="Leave it as it was"),
    ]

    def __init__(self, question: str, value: str) -> None:
        super().__init__()
        self._question, self._value = question, value

    def compose(self) -> ComposeResult:
        with Vertical(id="question"):
            yield Static(Content(self._question))
            # Only what the person selects is copied by Ctrl+C; without that it closes the dialog.
            yield Input(one_line(self._value), select_on_focus=False)
            keys = self.app.keys.fill_in("Enter takes it, {title.leave} leaves it as it was.")
            yield Static(Content.styled(keys, "dim"))
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip() or None)
