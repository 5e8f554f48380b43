"""The prompt's text area: the keys that send the text, begin a line, open an editor."""

import os
import shlex
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from textual.app import App, SuspendNotSupported
from textual.events import Key, Paste
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import TextArea

from app.shell.errors import BadInput
from app.shell.printable import printable
from app.tui.keys.keymap import bind
from app.tui.program import Program
from app.tui.widgets.field import JOINERS, act_in_order

HINTS = ("Ask something. / for commands, {app.help} for help", "/ for commands, {app.help} for help")
"""For an empty prompt: the first that fits."""


class PromptArea(TextArea):
    app: Program

    HELP = """\
Write here. A / at the beginning offers commands: Tab completes one, Enter runs it. @ adds a file's text to \
the prompt. Up from the first line brings earlier prompts back."""

    BINDINGS = [
        bind("enter", "submit", "", "prompt.send", "Send the prompt"),
        bind("ctrl+j,shift+enter,alt+enter", "newline", "", "prompt.newline",
             "Begin another line (few terminals send Shift+Enter)"),
        bind("ctrl+b", "submit(True)", "", "prompt.at_once",
             "Stop the answer in progress: the prompt, or what waits, is sent in its place"),
        bind("ctrl+g", "editor", "", "prompt.editor", "Write the prompt in your own editor ($EDITOR)"),
        bind("ctrl+s", "screen.open_pasted", "", "prompt.open",
             "Write a long text that was pasted into the prompt"),
        bind("ctrl+underscore,super+z", "undo", "", "prompt.undo", "Take back what was typed last"),
        bind("ctrl+d", "delete_or_leave", "", "prompt.leave",
             "In an empty prompt: leave; else delete the character after the cursor"),
        bind("tab,shift+tab", "screen.browse", "", "prompt.browse",
             "Go to the messages: edit, regenerate, continue, copy, change branch"),
        bind("pageup", "screen.page(-1)", "", "prompt.page_up", "Scroll the conversation up"),
        bind("pagedown", "screen.page(1)", "", "prompt.page_down", "Scroll the conversation down"),
        bind("ctrl+end", "screen.follow", "", "prompt.follow",
             "Go to the end of the conversation and follow it"),
    ]  # fmt: skip

    def __init__(
        self, takes_key: Callable[[str], Awaitable[bool]], takes_paste: Callable[[str], bool]
    ) -> None:
        """`takes_key` and `takes_paste` get every key and paste first, and return whether they handled it."""
        super().__init__(compact=True, highlight_cursor_line=False)
        self._takes_key = takes_key
        self._takes_paste = takes_paste
        self._deletes = False
        """The last key was Ctrl+D and had a text: held down, it must not leave at the text's end."""
        self._led_to: Screen[Any] | None = None
        """The screen in view after a key that was handled here: what it gave the focus to, keys after it are
        meant for. Those before a priority binding are handled after it, and meant for this."""
        self._waited = False
        """A priority binding may have opened the screen while the key was handled."""

    def on_paste(self, event: Paste) -> None:
        if self._takes_paste(event.text):
            event.stop()
            event.prevent_default()

    async def action_submit(self, at_once: bool = False) -> None:
        text = self.text.rstrip("\n")  # a pasted line has its end with it
        if text.strip():
            self.clear()
            await self.wait_for(self.app.submit(text, at_once=at_once))
        elif at_once:
            self.app.state.send_queued_at_once()

    async def wait_for(self, work: Awaitable[object]) -> None:
        """Do what a key sent or chose before the keys behind it: a message would be read after them."""
        self._waited = True
        await work

    def action_editor(self) -> None:
        try:
            text = edited(self.app, self.text)
        except BadInput as error:
            self.app.state.view.note(str(error), "mistake")
            return
        self.load_text(printable(text))
        self.move_cursor(self.document.end)

    def action_newline(self) -> None:
        self.insert("\n")

    async def action_delete_or_leave(self) -> None:
        if self.text:
            self._deletes = True
            self.action_delete_right()
        elif not self._deletes:
            await self.app.action_quit()

    async def on_key(self, event: Key) -> None:
        """Keys are handled here, since priority bindings would run before letters typed earlier."""
        self._waited = False
        if (has_focus := self.app.focused is self) or self.app.screen is not self._led_to:
            await self._handle(event)
        else:
            self.app.post_message(Key(event.key, event.character))
            _end(event)
        if has_focus and self.app.focused is not self and not self._waited:
            self._led_to = self.app.screen

    async def _handle(self, event: Key) -> None:
        self._deletes &= event.key in self.app.keys.of("prompt.leave")
        active = self.screen.active_bindings.get(event.key)
        if await self._takes_key(event.key):
            _end(event)
        elif active and active.enabled and isinstance(active.node, App | Screen) and not event.is_printable:
            await self.app.run_action(active.binding.action, active.node)
            _end(event)
        elif event.key == "ctrl+c" and not (self.selected_text or self.screen.get_selected_text()):
            await self.app.run_action("help_quit")  # the app would empty letters typed later too
            _end(event)
        elif event.character in JOINERS:
            self.insert(event.character)
            _end(event)
        else:
            await act_in_order(self, event)

    def on_resize(self) -> None:
        hints = [self.app.keys.fill_in(hint) for hint in HINTS]
        fitting = (hint for hint in hints if cell_len(hint) <= self.content_size.width)
        self.placeholder = next(fitting, hints[-1])
        self.call_after_refresh(self.scroll_cursor_visible)

    def render_line(self, y: int) -> Strip:
        # When a wide terminal gets narrow, the old padding leaves no column: Textual 8.2.8 fails then.
        return super().render_line(y) if self.content_size.width else Strip.blank(0)

    def load_text(self, text: str) -> None:
        super().load_text(printable(text))

    @property
    def row(self) -> int:
        """The cursor's line, counting wrapped lines."""
        return self.wrapped_document.location_to_offset(self.cursor_location).y


def edited(app: Program, text: str) -> str:
    """The text as edited in `$VISUAL` or `$EDITOR`, which may save it in another encoding.

    Raises:
        BadInput: there is no editor, it failed, or it cannot run here; or the text cannot be handed over.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command:
        raise BadInput("No editor is named. Set EDITOR, for example: export EDITOR=nano")
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "prompt.md"
            file.write_text(text, "utf-8")
            _run(app, command, file)
            try:
                text = file.read_text("utf-8-sig")  # behind its mark a command would be none
            except UnicodeDecodeError:
                text = file.read_text("latin-1")  # reads all bytes
                app.state.view.note("The editor's text is not UTF-8: it was read as Latin-1.", "warning")
            return text.rstrip("\n")
    except OSError as error:
        raise BadInput(f"The prompt cannot be handed to an editor and back: {error.strerror}.") from error


def _run(app: App[Any], command: str, file: Path) -> None:
    try:
        with app.suspend():
            code = subprocess.call([*shlex.split(command), str(file)])
    except SuspendNotSupported as error:
        raise BadInput("An editor cannot run in this terminal.") from error
    except (OSError, ValueError) as error:
        raise BadInput(f"The editor '{command}' cannot be started: {error}.") from error
    if code != 0:
        raise BadInput(f"The editor '{command}' ended with exit code {code}; the prompt is as it was.")


def _end(event: Key) -> None:
    """Nothing else handles it."""
    event.stop()
    event.prevent_default()
