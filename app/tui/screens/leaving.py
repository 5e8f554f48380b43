"""Questions before leaving the program: about downloads, and messages that could not be saved."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from app.history.unsent import Unsent
from app.shell.number_text import counted
from app.tui.program import Program
from app.tui.screens.question import QuestionScreen


class Leaving:
    def __init__(self, app: Program, lost: Callable[[], list[Unsent]]) -> None:
        """`lost`: the prompts that would be gone."""
        self.rescue: Path | None = None
        """The file with the messages and prompts that could not be saved."""
        self._app, self._lost = app, lost
        self._was_told = False
        """The person was told about unsaved messages, and leaves anyway."""
        self._question: QuestionScreen | None = None
        """The last one of this class."""

    def says_yes(self) -> bool:
        """Answer the open question, the help may lie over it: one about leaving with yes, another with no."""
        asked = [screen for screen in self._app.screen_stack if isinstance(screen, QuestionScreen)]
        if not asked:
            return False
        is_yes = asked[-1] is self._question
        asked[-1].dismiss(is_yes)
        return is_yes

    async def agreed(self) -> bool:
        """Ask what is necessary; return whether to leave. Await it in a worker."""
        app = self._app
        if jobs := app.pulls.unfinished:
            what = f"{jobs[0].pair.name} is" if len(jobs) == 1 else f"{len(jobs)} pairs are"
            kept = "The downloaded part is kept, and the next start offers to resume."
            if not await self._ask(f"{what} being downloaded. Leave? {kept}"):
                return False
        app.state.save()
        history = app.state.history
        if not (unsaved := await asyncio.to_thread(history.flush) + len(self._lost())):
            return True
        what = f"{counted(unsaved, 'message')} could not be saved in {history.path}."
        rest = f"What is missing is written to a new file in {app.config.export_folder}."
        if not await self._ask(f"{what} Leave? {rest}"):
            return False
        self.rescue = await asyncio.to_thread(app.saved.rescue, self._lost())
        lost = f"No file can be written in {app.config.export_folder} either. Leave without the messages?"
        self._was_told = self.rescue is not None or await self._ask(lost)
        return self._was_told

    def end(self, unsaved: int) -> None:
        """Write unsaved messages to a file if the person was not asked, as when a signal ends the program."""
        if unsaved and not self._was_told:
            self.rescue = self._app.saved.rescue(self._lost())

    async def _ask(self, question: str) -> bool:
        self._question = QuestionScreen(question, "Leave", "Stay")
        return bool(await self._app.push_screen_wait(self._question))
