"""Where the person writes: grows to eight lines, Enter sends, `/` offers commands."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key, Paste
from textual.message import Message
from textual.widgets import OptionList, TextArea

from app.printable import printable
from app.tui.messages import CommandChosen, PromptSubmitted
from app.tui.slash_commands import completions
from app.tui.widgets.command_menu import CommandMenu

if TYPE_CHECKING:
    from app.tui.app import ChatApp

MENU_KEYS = ("up", "down", "tab", "enter", "escape")


class PromptArea(TextArea):
    """The text being written."""

    app: "ChatApp"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", id="prompt.send", show=False, tooltip="Send the prompt"),
        Binding("shift+enter,ctrl+j,alt+enter", "newline", "New line", id="prompt.newline", show=False,
                tooltip="Begin another line (Ctrl+J where the terminal does not tell Shift+Enter)"),
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

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            compact=True,
            highlight_cursor_line=False,
            placeholder="Ask something. / for commands, F1 for help",
        )
        self.menu_is_open = False

    def action_submit(self) -> None:
        if self.text.strip():
            self.post_message(PromptSubmitted(self.text))
            self.clear()

    def action_newline(self) -> None:
        self.insert("\n")

    def on_key(self, event: Key) -> None:
        """Not left to priority bindings: those overtake letters that were typed before them."""
        if self.menu_is_open and event.key in MENU_KEYS:
            self.post_message(self.MenuKeyPressed(event.key))
        elif event.key in self.app.keys_of("prompt.send"):
            self.action_submit()
        elif event.key in self.app.keys_of("prompt.newline"):
            self.action_newline()
        else:
            return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: Paste) -> None:
        """Pasted control characters become signs; line ends become plain ones."""
        event.text = printable(event.text.replace("\r\n", "\n").replace("\r", "\n"))


class Prompt(Vertical):
    """The command list above the text."""

    def compose(self) -> ComposeResult:
        yield CommandMenu()
        yield PromptArea()

    @property
    def area(self) -> PromptArea:
        return self.query_one(PromptArea)

    def fill(self, text: str) -> None:
        """Put text in, the cursor at its end."""
        self.area.load_text(text)
        self.area.move_cursor(self.area.document.end)
        self.area.focus()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._offer(event.text_area.text)

    def on_prompt_area_menu_key_pressed(self, event: PromptArea.MenuKeyPressed) -> None:
        event.stop()
        menu = self.query_one(CommandMenu)
        match event.key:
            case "up":
                menu.action_cursor_up()
            case "down":
                menu.action_cursor_down()
            case "escape":
                self._close()
            case _:
                self._choose()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._choose()

    def _choose(self) -> None:
        command = self.query_one(CommandMenu).chosen
        if command is not None:
            self._close()
            self.area.clear()
            self.post_message(CommandChosen(command.name, takes_value=bool(command.value)))

    def _offer(self, text: str) -> None:
        menu = self.query_one(CommandMenu)
        menu.offer(completions(text))
        self.area.menu_is_open = menu.is_open

    def _close(self) -> None:
        self.query_one(CommandMenu).offer(())
        self.area.menu_is_open = False
