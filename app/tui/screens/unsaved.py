"""Questions before leaving the program: about downloads, and messages that could not be saved."""

import asyncio
from pathlib import Path

from textual.content import Content
from textual.widgets import Input, Static

from app.shell.errors import AppError
from app.shell.named_file import plain_file, write_new
from app.shell.number_text import counted
from app.shell.printable import one_line
from app.tui.keys.keymap import bind
from app.tui.program import Program
from app.tui.screens.question import LineScreen, QuestionScreen, ask


class UnsavedScreen(LineScreen[Path]):
    """Returns the file that the messages were written to, or None if the person stays."""

    KEYS = (
        "Enter writes them there as Markdown and leaves, {app.quit} leaves without them, "
        "{unsaved.stay} stays."
    )
    HELP = f"Messages that are in no file yet. {KEYS}"

    BINDINGS = [bind("escape", "dismiss(None)", "Stay", "unsaved.stay", "Stay in the chat")]

    def __init__(self, count: int, history: Path, text: str, file: Path) -> None:
        """`count` messages could not be saved in `history`; `text` has them, `file` is proposed for it."""
        self._what = f"{counted(count, 'message')} could not be saved in {one_line(str(history))}."
        super().__init__(self._what, str(file))
        self._text = text

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        try:
            file = plain_file(event.value.strip())
            await asyncio.to_thread(write_new, file, self._text)
        except AppError as error:
            self.query_one("#asked", Static).update(Content(one_line(f"{error} {self._what}")))
        else:
            self.dismiss(file.absolute())


class Leaving:
    def __init__(self, app: Program) -> None:
        self.rescue: Path | None = None
        """The file with the messages that could not be saved."""
        self._app = app
        self._was_told = False
        """The person was told about unsaved messages, and leaves anyway."""
        self._asks = False
        """The question about downloads is open."""

    def says_yes(self) -> bool:
        """Answer the question in view: the one about downloads with yes, another with no."""
        screen, is_yes = self._app.screen, self._asks
        if not isinstance(screen, QuestionScreen):
            return False
        screen.dismiss(is_yes)
        return is_yes

    async def agreed(self) -> bool:
        """Ask what is necessary; return whether to leave. Await it in a worker."""
        app = self._app
        if jobs := app.pulls.unfinished:
            what = f"{jobs[0].pair.name} is" if len(jobs) == 1 else f"{len(jobs)} pairs are"
            kept = "What came is kept, and the next start offers the rest."
            self._asks = True
            leaves = await ask(app, f"{what} being downloaded. Leave? {kept}", "Leave", "Stay")
            self._asks = False
            if not leaves:
                return False
        app.state.save()
        history = app.state.history
        if unsaved := await asyncio.to_thread(history.flush):
            self._was_told = True
            question = UnsavedScreen(unsaved, history.path, *app.saved.not_saved())
            self.rescue = await app.push_screen_wait(question)
            self._was_told = self.rescue is not None
        return not unsaved or self._was_told

    def end(self, unsaved: int) -> None:
        """Write unsaved messages to a file if the person was not asked, as when a signal ends the program."""
        if unsaved and not self._was_told:
            self.rescue = self._app.saved.rescue()
