"""Where the person writes: grows to eight lines, Enter sends, `/` offers commands, `@` files."""

import asyncio
import re
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import OptionList, TextArea

from app.chat.past_prompts import PastFiles, PastPrompts
from app.chat.slash_commands import completions
from app.history.records import Attachment
from app.shell.printable import printable
from app.tui.messages import CommandChosen
from app.tui.widgets.attachment_list import AttachmentList
from app.tui.widgets.command_menu import CommandMenu, FileChoice
from app.tui.widgets.file_paths import files_below, matching
from app.tui.widgets.prompt_area import PromptArea

_MENTION = re.compile(r"""(?<!\S)@(?:"(?P<quoted>[^"]*)|(?P<plain>[^\s"]*))$""")
"""The path being typed, just before the cursor."""


class Prompt(Vertical):
    """The list of what may be meant, the attached files, the text."""

    class QueueRequested(Message):
        """Up in an empty prompt while others wait."""

    def __init__(self) -> None:
        super().__init__()
        self.past = PastPrompts()
        self.past_files = PastFiles()
        self.others_wait = False
        """Prompts wait for the answer in progress; Up takes the last of them back."""
        self._given_back = ""
        self._given_back_title = ""
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

    def sent(self, text: str) -> None:
        """Take a text that goes off; Up brings it back."""
        self.past.add(text)
        self.past_files.sent(text)

    def put_back(self, text: str, others: int) -> None:
        """Put a text in, marked as not sent; Up has others."""
        self.fill(text)
        more = f" · Up: {others} more" if others else ""
        self._given_back, self._given_back_title = self.area.text, f"not sent yet{more}"

    @property
    def title(self) -> str:
        """Where the text comes from, if it was given back and is as it was."""
        return self._given_back_title if self.area.text == self._given_back else ""

    def stash(self) -> bool:
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
            self.post_message(self.QueueRequested())
            return
        found = self.past.earlier(text) if event.direction < 0 else self.past.later(text)
        if found is not None:
            shown = self.query_one(AttachmentList)
            shown.files = self.past_files.walked(text, found, shown.files)
            self.fill(found)
            self._close()

    async def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self._given_back_title and not self.title:
            self._given_back_title = self.area.border_title = ""
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
