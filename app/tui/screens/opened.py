"""Base class of the screens opened over the chat: a key line below, and closing only once."""

from collections.abc import Callable, Coroutine
from typing import ParamSpec

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import VerticalScroll
from textual.content import Content
from textual.events import Paste
from textual.screen import ScreenResultType
from textual.widgets import Input, OptionList, Static
from textual.worker import get_current_worker

from app.shell.number_text import counted
from app.shell.printable import one_line
from app.tui.program import Program
from app.tui.screens.selecting import SelectingScreen
from app.tui.widgets.key_line import KeyLine
from app.tui.widgets.notices import show_toast

P = ParamSpec("P")

LETTERS = ("search", "search_hub", "add_own")
"""Actions whose keys have priority, though they are letters."""

LOST_SECONDS = 6.0
"""How long it is said that a paste went nowhere."""


class OpenedScreen(SelectingScreen[ScreenResultType]):
    """A screen that returns its result once and ignores later events.

    Of keys read together, later ones still reach the screen that the first one closes, and threads end late;
    Textual would then close the screen below, in the end the chat's.
    """

    app: Program

    asks = False
    """Some work is being done, or the question about it is open."""

    def compose(self) -> ComposeResult:
        yield from self.parts()
        yield KeyLine(self.applies)

    def parts(self) -> ComposeResult:
        """The widgets above the key line."""
        yield from ()

    def show_message(self, text: str) -> None:
        """Show a text in the message line, unless the screen was closed meanwhile."""
        if not self.was_closed:
            self.query_one("#message", Static).update(Content(one_line(text)))

    def tell(self, text: str) -> None:
        """Show the outcome of work in the message line, or in the chat if the screen was closed meanwhile."""
        if self.was_closed:
            self.app.state.view.note(text)
        else:
            self.show_message(text)

    @property
    def was_closed(self) -> bool:
        """Whether it is closing or closed, its widgets perhaps gone; `is_mounted` would stay true."""
        return not self.is_attached or not self.app.is_running or self not in self.app.screen_stack

    def applies(self, action: str) -> bool:
        """Whether an action is useful now. If not, its key is not offered; pressed, it says why not."""
        return action != "more" or self.query_one(VerticalScroll).max_scroll_y > 0

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key works now. Those with priority are just letters while the field has the focus, or
        has yet to be made."""
        return action not in LETTERS or (self.is_mounted and not isinstance(self.focused, Input))

    def on_paste(self, event: Paste) -> None:
        """Put what is pasted on a list into the search or filter over it; without one, say so."""
        event.stop()
        if self.query(Input):
            self.action_search()
            self.query_one(Input).post_message(Paste(event.text))
        else:
            self.show_lost(f"There is no field here for the {counted(len(event.text), 'character')} pasted.")

    def show_lost(self, what: str) -> None:
        """Say that a paste went nowhere."""
        show_toast(self.app, f"{what} Paste them into the prompt of the chat.", LOST_SECONDS, "warning")

    def action_search(self) -> None:
        field = self.query_one(Input)
        field.display = True
        self.set_focus(field)

    def action_more(self) -> None:
        view = self.query_one(VerticalScroll)
        scroll = view.scroll_page_down if view.scroll_y < view.max_scroll_y else view.scroll_home
        scroll(animate=False)

    def action_choose(self) -> None:
        self.query_one(OptionList).action_select()

    def every(self, seconds: float, do: Callable[[], None]) -> None:
        """Call `do` regularly until the screen is closed: its timers may outlive its widgets."""
        self.set_interval(seconds, lambda: None if self.was_closed else do())

    def ask_once(self, work: Coroutine[None, None, None]) -> None:
        """Start work that changes what is listed, unless some is being done: the same key may come twice in
        one read. It goes on if the screen is closed."""
        if self.asks:
            work.close()
            return
        self.asks = True

        async def run() -> None:
            try:
                await work
            finally:
                self.asks = False

        self.app.run_worker(run())

    def from_thread(self, show: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Show the result of a worker's thread, unless the screen closed or a later worker took over."""
        worker = get_current_worker()
        self.app.call_from_thread(
            lambda: None if worker.is_cancelled or self.was_closed else show(*args, **kwargs)
        )

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close this screen and those opened over it; once it is closed, do nothing."""
        if self.was_closed:
            return AwaitComplete()
        while self.app.screen is not self:
            self.app.pop_screen()
        return super().dismiss(result)
