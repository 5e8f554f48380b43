"""What the screens that are opened over the chat have in common: their keys below, and they close once."""

from collections.abc import Callable, Coroutine
from typing import ParamSpec

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.content import Content
from textual.screen import ScreenResultType
from textual.widgets import Input, OptionList, Static

from app.shell.printable import one_line
from app.tui.program import Program
from app.tui.screens.selecting import SelectingScreen
from app.tui.widgets.key_line import KeyLine

P = ParamSpec("P")


class OpenedScreen(SelectingScreen[ScreenResultType]):
    """A screen that gives its result once, whatever still comes to it afterwards.

    Keys that are read together reach a screen before the first of them closes it, and threads end late;
    Textual would close the screen below instead, the chat's at last.
    """

    app: Program

    asks = False
    """A question is asked here, or its answer carried out."""

    def compose(self) -> ComposeResult:
        yield from self.parts()
        yield KeyLine()

    def parts(self) -> ComposeResult:
        """What is above its keys."""
        yield from ()

    def show_message(self, text: str) -> None:
        """Say it in the line that is there for it, unless the screen was closed meanwhile."""
        if not self.was_closed:
            self.query_one("#message", Static).update(Content(one_line(text)))

    @property
    def was_closed(self) -> bool:
        """It is on its way out, its widgets perhaps gone; `is_mounted` stays true for good."""
        return not self.is_attached or not self.app.is_running or self not in self.app.screen_stack

    def applies(self, action: str) -> bool:
        """Whether what a key of this screen does is of use now, as `Program.applies` has it."""
        return True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key does something now. The one that goes to a field is a letter within it."""
        return action != "search" or not isinstance(self.focused, Input)

    def action_search(self) -> None:
        field = self.query_one(Input)
        field.display = True
        self.set_focus(field)

    def action_choose(self) -> None:
        self.query_one(OptionList).action_select()

    def every(self, seconds: float, do: Callable[[], None]) -> None:
        """Do it again and again until it is closed: its timers may outlive its widgets."""
        self.set_interval(seconds, lambda: None if self.was_closed else do())

    def ask_once(self, work: Coroutine[None, None, None]) -> None:
        """Start work that asks a question; the same key again in one read starts nothing."""
        if self.asks:
            work.close()
            return
        self.asks = True

        async def run() -> None:
            try:
                await work
            finally:
                self.asks = False

        self.run_worker(run())

    def from_thread(self, show: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Have the screen show what a thread found out, unless it was closed meanwhile."""
        self.app.call_from_thread(lambda: None if self.was_closed else show(*args, **kwargs))

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close this screen and what was opened over it; once it is closed, do nothing."""
        if self.was_closed:
            return AwaitComplete()
        while self.app.screen is not self:
            self.app.pop_screen()
        return super().dismiss(result)
