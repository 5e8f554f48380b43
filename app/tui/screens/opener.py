"""Opens the screens over the chat."""

from collections.abc import Iterable

from app.compare.request import read_compare, read_sweep
from app.history.records import ChatRow
from app.shell.errors import AppError, BadInput
from app.tui.program import Program
from app.tui.screens.compare import CompareScreen
from app.tui.screens.comparisons import ComparisonsScreen
from app.tui.screens.first_run import FirstRunScreen
from app.tui.screens.notices import NoticesScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.widgets.message_actions import MessageActions
from app.tui.widgets.notices import Notice
from app.tui.widgets.prompt import Prompt
from models.pairs.catalogue import Pair


class Opener:
    """Closes the screens above the chat first."""

    def __init__(self, app: Program, prompt: Prompt, actions: MessageActions) -> None:
        self._app = app
        self._prompt = prompt
        self._actions = actions

    def return_to_chat(self) -> None:
        while len(self._app.screen_stack) > 1:
            self._app.pop_screen()

    def compare(self, text: str, *, sweep: bool = False) -> None:
        """Run the comparison that a text describes, unless an answer is still being written.

        Raises:
            BadInput: there is no prompt yet, or the engine is busy.
        """
        self.return_to_chat()
        chat = self._app.state
        if chat.running is not None:
            busy = "An answer is being written. Stop it with {chat.stop}, then compare."
            raise BadInput(self._app.keys.fill_in(busy))
        read = read_sweep if sweep else read_compare
        plan = read(text, chat.conversation, chat.settings.for_answer(drafting=True))
        self._app.push_screen(CompareScreen(plan=plan))

    def comparisons(self) -> None:
        self.return_to_chat()
        self._app.push_screen(ComparisonsScreen())

    def notices(self, kept: Iterable[Notice]) -> None:
        self.return_to_chat()
        self._app.push_screen(NoticesScreen([*kept]))

    def welcome(self) -> None:
        """Explain the built-in pair and offer real ones, as at the first start."""
        self.return_to_chat()
        screen = FirstRunScreen(self._prompt.write)
        self._app.push_screen(screen, lambda chosen: self.pairs(chosen) if chosen is not None else None)

    def sessions(self, text: str) -> None:
        self.return_to_chat()
        sessions = SessionsScreen(text)

        async def open_chat(row: ChatRow | None) -> None:
            if row is not None:
                await self._open_chat(row, sessions.words)

        self._app.push_screen(sessions, open_chat)

    def pairs(self, chosen: str | None = None) -> None:
        self.return_to_chat()
        self._app.push_screen(PairsScreen(chosen), self.use)

    def use(self, pair: Pair | None) -> None:
        """Answer with this pair from here on, loaded again if that failed; None changes nothing."""
        chat = self._app.state
        if pair is not None and chat.link.is_served:
            text = f"The server answers with its own pair. For {pair.name} here: mlx-spec chat {pair.name}."
            chat.view.note(text, "mistake")
        elif pair is not None and pair.spec == chat.link.pair and chat.link.state in ("loading", "ready"):
            chat.view.note(f"{pair.name} is in use already.")
        elif pair is not None:
            chat.view.note(f"Opening {pair.name}. The conversation goes on with it.")
            chat.use(pair.spec)

    async def _open_chat(self, row: ChatRow, words: list[str]) -> None:
        chat = self._app.state
        try:
            if row.chat.id != chat.conversation.chat.id:
                await self._app.saved.resume(row.chat.id)
            if row.hit is not None:
                self._actions.show_hit(row.hit, words)
        except AppError as error:
            chat.view.note(str(error), "error")
