"""The prompt input: grows to eight lines, Enter sends, `/` offers commands, `@` files."""

import asyncio
import re
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.widgets import OptionList, Static, TextArea

from app.chat.attachments import PASTED, dropped, mention
from app.chat.past_prompts import PastPrompts
from app.chat.slash_commands import completions, drafter_completions, preset_completions
from app.history.records import Attachment
from app.history.unsent import Unsent
from app.shell.number_text import counted
from app.shell.printable import one_line, printable
from app.tui.program import Program
from app.tui.widgets.command_menu import CommandMenu
from app.tui.widgets.file_paths import files_below, matching
from app.tui.widgets.prompt_area import PromptArea

_MENTION = re.compile(r"""(?<!\S)@(?:"(?P<quoted>[^"]*)|(?P<plain>[^\s"]*))$""")
"""The path being typed, just before the cursor."""

LONGEST_LINES, LONGEST_CHARACTERS = 20, 2000
"""Largest paste that is inserted into the prompt; a longer one is attached and shown by its length."""


class AttachmentList(Static):
    app: Program
    files: tuple[Attachment, ...] = ()

    def show(self, *files: Attachment) -> None:
        self.files = files
        self.display = bool(files)
        names = " · ".join(map(_chip, files))
        hint = "Backspace without text drops one"
        if any(file.name == PASTED for file in files):
            hint = self.app.keys.fill_in("{prompt.open} opens pasted text · ") + hint
        self.update(Content.assemble(names, "\n", (hint, "$text-muted")))


def _chip(file: Attachment) -> str:
    if file.name != PASTED:
        return f"▤ {one_line(file.name)} ({counted(len(file.text), 'character')})"
    lines = len(file.text.splitlines())
    return f"▤ {counted(lines, 'line') if lines > 1 else counted(len(file.text), 'character')} pasted"


class Prompt(Vertical):
    app: Program

    def __init__(self) -> None:
        super().__init__()
        self.area = PromptArea(self._takes_key, self._takes_paste)
        self.menu = CommandMenu()
        self.past = PastPrompts()
        self._files = AttachmentList()
        self._paths: list[str] | None = None
        self._offered_for = ""

    def compose(self) -> ComposeResult:
        yield self.menu
        yield self._files
        yield self.area

    def fill(self, text: str, *files: Attachment) -> None:
        """Show a whole text: it is not completed before it is changed, so that Up and Down go on from it."""
        self.area.load_text(text)
        self.area.move_cursor(self.area.document.end)
        self._offered_for = self.area.text
        self.menu.offer(())
        self.screen.set_focus(self.area)  # `focus()` would set it behind keys that come at once
        self.attach(*files)

    def begin(self, command: str) -> None:
        """Write a command, for its value to be typed."""
        self.fill(f"/{command} ")
        self._offer_commands()

    def stash(self) -> bool:
        """Empty the prompt; Up brings its text and files back. Return whether there were any."""
        text, files = self.area.text, self.take_attachments()
        self.area.clear()
        if text.strip() or files:
            self.past.add(text, files or None)
        return bool(text or files)

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        return self._files.files

    def attach(self, *files: Attachment) -> None:
        self._files.show(*self.attachments, *files)

    def take_attachments(self) -> tuple[Attachment, ...]:
        files = self.attachments
        self._files.show()
        return files

    def open_pasted(self) -> None:
        """Insert the attached long pastes into the prompt."""
        pasted = [file for file in self.attachments if file.name == PASTED]
        if pasted:
            self._files.show(*(file for file in self.attachments if file not in pasted))
            self.area.insert("\n".join(file.text for file in pasted))
            self.area.focus()

    def on_click(self, event: Click) -> None:
        if event.widget is self._files:
            self.open_pasted()

    async def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self.area.scroll_cursor_visible()  # Textual scrolled before it knew the text's new height
        if self.area.text != self._offered_for:
            await self._offer_completions()

    async def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        await self._choose(runs=True)

    async def _offer_completions(self) -> None:
        self._offered_for = text = self.area.text
        typed = self._typed_path
        if typed is None:
            self._paths = None  # files may come and go until the next `@`
            self._offer_commands()
            return
        if self._paths is None:
            self._paths = []  # while they are listed
            self._paths = await asyncio.to_thread(files_below, Path())
        if self._offered_for == text:
            # A name with characters that the prompt replaces would name no file there.
            self.menu.offer([path for path in matching(self._paths, typed) if printable(path) == path])

    def _offer_commands(self) -> None:
        self._offered_for = text = self.area.text
        info = self.app.link.info
        drafters = drafter_completions(text, info.drafters if info else ())
        self.menu.offer(completions(text) or drafters or preset_completions(text, self.app.saved.presets))

    def write(self, text: str) -> None:
        """Insert a text that was typed or pasted elsewhere."""
        if not self._takes_paste(text):
            self.area.insert(text)

    def _takes_paste(self, text: str) -> bool:
        """Attach a long text and name dropped files with an @; return whether it was one of these."""
        if len(text) > LONGEST_CHARACTERS or len(text.splitlines()) > LONGEST_LINES:
            self.attach(Attachment(PASTED, text))
            return True
        files = dropped(text) if self._typed_path is None else []
        if files:
            row, column = self.area.cursor_location
            before = self.area.document.get_line(row)[:column]
            gap = " " if before and not before.endswith(" ") else ""
            self.area.insert(f"{gap}{' '.join(map(mention, files))} ")
        return bool(files)

    async def _takes_key(self, key: str) -> bool:
        """Handle a key that does not edit the text; return whether it was handled."""
        if self._typed_path is None and self.area.text != self._offered_for:
            self._offer_commands()  # the key came before the message about the changed text
        if self.menu.is_open:
            return await self._moves_in_menu(key)
        sending = ("prompt.send", "prompt.at_once")
        if not self.area.text.strip() and any(key in self.app.keys.of(name) for name in sending):
            self.open_pasted()  # the pasted text is the prompt
            return False
        if key == "backspace" and not self.area.text:
            self._files.show(*self.attachments[:-1])
        elif key == "up" and self.area.row == 0:
            self._walk(-1)
        elif key == "down" and self.area.row == self.area.wrapped_document.height - 1:
            self._walk(1)
        else:  # among the messages, letters typed behind a Tab that completes nothing would do things
            return key == "tab" and self.area.text.startswith("/")
        return True

    async def _moves_in_menu(self, key: str) -> bool:
        match key:
            case "up":
                self.menu.action_cursor_up()
            case "down":
                self.menu.action_cursor_down()
            case "escape":
                self.menu.offer(())
            case "enter" if self.menu.chosen == self._typed_path:  # nothing is left to complete
                self.menu.offer(())
                return False
            case "enter" | "tab":
                await self._choose(runs=key == "enter")
            case _:
                return False
        return True

    def _walk(self, direction: int) -> None:
        shown = Unsent(self.area.text, self.attachments)
        if direction < 0 and (waiting := self.app.state.take_back()):
            self.fill("\n".join(filter(None, (waiting.text, shown.text))), *waiting.attachments)
            return
        found = self.past.earlier(shown) if direction < 0 else self.past.later(shown)
        if found is not None:
            self._files.show(*found.attachments)
            self.fill(found.text)

    async def _choose(self, *, runs: bool) -> None:
        """Complete what was typed; a command that needs no value `runs` at once."""
        choice = self.menu.chosen
        self.menu.offer(())
        if isinstance(choice, str) and self._typed_path is None:
            self.fill(choice)
        elif isinstance(choice, str):
            self._complete(choice)
        elif choice is not None and runs and not choice.needs_value:
            self.area.clear()
            await self.area.wait_for(self.app.run_action(f"app.command('{choice.name}')"))
        elif choice is not None:
            is_whole = runs and self.area.text == f"/{choice.name}"
            self.begin(choice.name)
            if is_whole and choice.is_setting:
                await self.area.wait_for(self.app.run_action(f"app.command('{choice.name}')"))
            elif is_whole:
                self.app.state.view.note(f"Write its value: {choice.usage}", "mistake")

    def _complete(self, path: str) -> None:
        """Complete the typed path; after a folder, its files are offered next."""
        typed, (row, column) = self._mention, self.area.cursor_location
        if typed is not None:
            written = mention(path)
            written = written.removesuffix('"') if path.endswith("/") else f"{written} "
            self.area.replace(written, (row, typed.start()), (row, column))

    @property
    def _mention(self) -> re.Match[str] | None:
        row, column = self.area.cursor_location
        return _MENTION.search(self.area.document.get_line(row)[:column])

    @property
    def _typed_path(self) -> str | None:
        """The partial path just before the cursor; None if there is none."""
        typed = self._mention
        return typed and (typed["quoted"] or typed["plain"] or "")
