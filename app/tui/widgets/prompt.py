"""Where the person writes: grows to eight lines, Enter sends, `/` offers commands, `@` files."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Key
from textual.message import Message
from textual.widgets import OptionList, TextArea

from app.errors import BadInput
from app.history.records import Attachment
from app.printable import printable
from app.tui.editor import edited
from app.tui.file_paths import files_below, matching
from app.tui.messages import CommandChosen, PromptSubmitted
from app.tui.past_prompts import PastPrompts
from app.tui.slash_commands import completions
from app.tui.widgets.attachment_list import AttachmentList
from app.tui.widgets.command_menu import CommandMenu, FileChoice

if TYPE_CHECKING:
    from app.tui.app import ChatApp

MENU_KEYS = ("up", "down", "tab", "enter", "escape")

JOINERS = ("\u200c", "\u200d")
"""They hold an emoji of several parts together and keep letters apart; Python counts them as unprintable."""

_MENTION = re.compile(r"""(?<!\S)@(?:"(?P<quoted>[^"]*)|(?P<plain>[^\s"]*))$""")
"""The path being typed, just before the cursor."""


class PromptArea(TextArea):
    """The text being written."""

    app: "ChatApp"

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
        self.placeholder = self.app.keys.told("Ask something. / for commands, {app.help} for help")
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


class Prompt(Vertical):
    """The list of what may be meant, the attached files, the text."""

    class QueueAskedFor(Message):
        """Up in an empty prompt while others wait."""

    def __init__(self) -> None:
        super().__init__()
        self.past = PastPrompts()
        self.others_wait = False
        """Prompts wait for the answer in progress; Up takes the last of them back."""
        self._given_back = ""
        self._given_back_told = ""
        self._paths: list[str] | None = None

    def compose(self) -> ComposeResult:
        yield CommandMenu()
        yield AttachmentList()
        yield PromptArea()

    @property
    def area(self) -> PromptArea:
        return self.query_one(PromptArea)

    def fill(self, text: str) -> None:
        """Put text in, the cursor at its end."""
        self.area.load_text(text)
        self.area.move_cursor(self.area.document.end)
        self.area.focus()

    def put_back(self, texts: Sequence[str]) -> None:
        """Put the last of these in, marked as not sent; Up has the others."""
        self.fill(texts[-1])
        others = f" · Up: {len(texts) - 1} more" if len(texts) > 1 else ""
        self._given_back, self._given_back_told = self.area.text, f"written before, not sent{others}"

    @property
    def told(self) -> str:
        """Where the text comes from, if it was given back and is as it was."""
        return self._given_back_told if self.area.text == self._given_back else ""

    def put_away(self) -> bool:
        """Empty the prompt; Up brings the text back. Return whether there was any."""
        text = self.area.text
        self.area.clear()
        if text.strip():
            self.past.add(text)
        return bool(text)

    def attach(self, *files: Attachment) -> None:
        """Have files go with the next prompt."""
        shown = self.query_one(AttachmentList)
        shown.files = (*shown.files, *files)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The files that go with the prompt."""
        return self.query_one(AttachmentList).files

    def take_attachments(self) -> tuple[Attachment, ...]:
        """The files that go with the prompt; none is left for the next one."""
        shown = self.query_one(AttachmentList)
        files, shown.files = shown.files, ()
        return files

    def on_prompt_area_attachment_dropped(self, event: PromptArea.AttachmentDropped) -> None:
        event.stop()
        shown = self.query_one(AttachmentList)
        shown.files = shown.files[:-1]

    def on_prompt_area_past_asked_for(self, event: PromptArea.PastAskedFor) -> None:
        event.stop()
        text = self.area.text
        if event.direction < 0 and not text and self.others_wait:
            self.post_message(self.QueueAskedFor())
            return
        found = self.past.earlier(text) if event.direction < 0 else self.past.later(text)
        if found is not None:
            self.fill(found)
            self._close()

    async def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._given_back_told and not self.told:
            self._given_back_told = self.area.border_title = ""
        typed = self._typed_path
        if typed is None:
            self._paths = None  # files may come and go until the next `@`
            self._offer(event.text_area.text)
            return
        if self._paths is None:
            self._paths = []  # while they are listed
            self._paths = await asyncio.to_thread(files_below, Path.cwd())
        # A name that cannot be written into the prompt as it is would name no file there.
        paths = [path for path in matching(self._paths, typed) if printable(path) == path]
        self.query_one(CommandMenu).offer([FileChoice(path) for path in paths])
        self.area.menu_is_open = self.query_one(CommandMenu).is_open

    def on_prompt_area_menu_key_pressed(self, event: PromptArea.MenuKeyPressed) -> None:
        event.stop()
        menu = self.query_one(CommandMenu)
        if not menu.is_open:  # The key overtook the text that closed the list.
            if event.key == "enter":
                self._submit()
            return
        match event.key:
            case "up":
                menu.action_cursor_up()
            case "down":
                menu.action_cursor_down()
            case "escape":
                self._close()
            case "enter" if menu.chosen == FileChoice(self._typed_path or ""):  # nothing is left to complete
                self._close()
                self._submit()
            case _:
                self._choose()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._choose()

    def _choose(self) -> None:
        choice = self.query_one(CommandMenu).chosen
        self._close()
        if isinstance(choice, FileChoice):
            self._complete(choice.path)
        elif choice is not None:
            self.area.clear()
            self.post_message(CommandChosen(choice.name, takes_value=choice.needs_value))

    def _submit(self) -> None:
        """Not at once: Textual drops a child's message that its parent's handler makes it send."""
        self.area.call_next(self.area.action_submit)

    def _complete(self, path: str) -> None:
        """Write the path out where its beginning was typed; what is in a folder is offered next."""
        mention, (row, column) = self._mention, self.area.cursor_location
        if mention is not None:
            written = f'@"{path}"' if " " in path else f"@{path}"
            written = written.removesuffix('"') if path.endswith("/") else f"{written} "
            self.area.replace(written, (row, mention.start()), (row, column))

    @property
    def _mention(self) -> re.Match[str] | None:
        row, column = self.area.cursor_location
        return _MENTION.search(self.area.document.get_line(row)[:column])

    @property
    def _typed_path(self) -> str | None:
        """What is there of the path just before the cursor; None if no path is typed."""
        mention = self._mention
        return mention and (mention["quoted"] or mention["plain"] or "")

    def _offer(self, text: str) -> None:
        menu = self.query_one(CommandMenu)
        menu.offer(completions(text))
        self.area.menu_is_open = menu.is_open

    def _close(self) -> None:
        self.query_one(CommandMenu).offer(())
        self.area.menu_is_open = False
