"""The text being written, in the prompt: which keys send it, break its lines, walk away from it."""

from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.message import Message
from textual.widgets import TextArea

from app.shell.errors import BadInput
from app.shell.printable import printable
from app.tui.keys.keyed_app import KeyedApp
from app.tui.messages import PromptSubmitted
from app.tui.widgets.editor import edited

MENU_KEYS = ("up", "down", "tab", "enter", "escape")

JOINERS = ("\u200c", "\u200d")
"""They hold an emoji of several parts together and keep letters apart; Python counts them as unprintable."""

HINTS = ("Ask something. / for commands, {app.help} for help", "/ for commands, {app.help} for help")
"""What stands where nothing is written yet: the first that is no wider than the prompt."""


class PromptArea(TextArea):
    """The text being written."""

    app: KeyedApp

    HELP = """\
Write here. A / at the beginning offers commands, @ files whose text goes with the prompt. Up from the \
first line brings earlier prompts back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", id="prompt.send", show=False, tooltip="Send the prompt"),
        Binding("ctrl+j,shift+enter,alt+enter", "newline", "New line", id="prompt.newline", show=False,
                tooltip="Begin another line (few terminals tell Shift+Enter from Enter)"),
        Binding("ctrl+b", "submit_at_once", "Send at once", id="prompt.at_once", show=False,
                tooltip="Stop the answer in progress: the prompt, or what waits, is sent in its place"),
        Binding("ctrl+g", "editor", "Editor", id="prompt.editor", show=False,
                tooltip="Write the prompt in your own editor ($EDITOR)"),
        Binding("ctrl+z", "app.suspend_process", "Suspend", id="prompt.suspend", show=False,
                tooltip="Back to the shell; `fg` returns here"),
        Binding("ctrl+underscore,super+z", "undo", "Undo", id="prompt.undo", show=False,
                tooltip="Take back what was typed last"),
        Binding("tab", "screen.browse", "Messages", id="prompt.browse", show=False,
                tooltip="To the messages: edit, ask again, continue, copy, walk branches"),
        Binding("pageup", "screen.page(-1)", "Page up", id="prompt.page_up", show=False,
                tooltip="Scroll the conversation up"),
        Binding("pagedown", "screen.page(1)", "Page down", id="prompt.page_down", show=False,
                tooltip="Scroll the conversation down"),
        Binding("ctrl+end", "screen.follow", "Follow", id="prompt.follow", show=False,
                tooltip="Go to the end of the conversation and follow it"),
    ]  # fmt: skip

    class MenuKeyPressed(Message):
        """A key that belongs to the open command list."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class PastAskedFor(Message):
        """Up at the first line, or Down at the last one."""

        def __init__(self, direction: int) -> None:
            super().__init__()
            self.direction = direction

    class QueueSentAtOnce(Message):
        """The key that sends at once, where there is no text."""

    class AttachmentDropped(Message):
        """Backspace where there is no text."""

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            compact=True,
            highlight_cursor_line=False,
        )
        self._hints = [self.app.keys.told(hint) for hint in HINTS]
        self.placeholder = self._hints[0]
        self.menu_is_open = False

    def action_submit(self) -> None:
        self._submit(at_once=False)

    def action_submit_at_once(self) -> None:
        if self.text.strip():
            self._submit(at_once=True)
        else:
            self.post_message(self.QueueSentAtOnce())

    def action_editor(self) -> None:
        try:
            text = edited(self.app, self.text)
        except BadInput as error:
            self.notify(printable(str(error)), severity="error", markup=False)
            return
        self.load_text(printable(text))
        self.move_cursor(self.document.end)

    def action_newline(self) -> None:
        self.insert("\n")

    def on_key(self, event: Key) -> None:
        """Not left to priority bindings: those overtake letters that were typed before them."""
        if self.menu_is_open and event.key in MENU_KEYS:
            self.post_message(self.MenuKeyPressed(event.key))
        elif event.key in self.app.keys.of("prompt.send"):
            self.action_submit()
        elif event.key in self.app.keys.of("prompt.newline"):
            self.action_newline()
        elif event.key == "up" and self._row == 0:
            self.post_message(self.PastAskedFor(-1))
        elif event.key == "down" and self._row == self.wrapped_document.height - 1:
            self.post_message(self.PastAskedFor(1))
        elif event.character in JOINERS:
            self.insert(event.character)
        elif event.key == "backspace" and not self.text:
            self.post_message(self.AttachmentDropped())
        else:
            return
        event.stop()
        event.prevent_default()

    def on_resize(self) -> None:
        """Where the terminal has become smaller, the place that is written at is seen, and the hint whole."""
        fitting = (hint for hint in self._hints if cell_len(hint) <= self.content_size.width)
        self.placeholder = next(fitting, self._hints[-1])
        self.call_after_refresh(self.scroll_cursor_visible)

    def load_text(self, text: str) -> None:
        """Put a text in place of this one: of an old prompt too, which a file may have brought."""
        super().load_text(printable(text))

    @property
    def _row(self) -> int:
        """The cursor's line as it is seen, long lines broken."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y

    def _submit(self, *, at_once: bool) -> None:
        if self.text.strip():
            self.post_message(PromptSubmitted(self.text, at_once=at_once))
            self.clear()
