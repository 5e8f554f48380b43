"""Opens the screens over the chat."""

from app.chat.history_actions import HistoryActions
from app.chat.open_chat import OpenChat
from app.chat.pair_removal import Ask
from app.chat.pull_queue import PullQueue
from app.chat.saved_chats import SavedChats
from app.compare.record import Record
from app.compare.request import read_compare, read_sweep
from app.history.records import ChatRow
from app.shell.errors import AppError, BadInput
from app.tui.keys.keyed_app import KeyedApp
from app.tui.screens.compare import CompareScreen
from app.tui.screens.comparisons import ComparisonsScreen
from app.tui.screens.first_run import FirstRunScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.widgets.message_actions import MessageActions
from app.tui.widgets.prompt import Prompt
from models.pairs.catalogue import Pair


class Opener:
    """Closes first whatever lies above the chat."""

    def __init__(
        self,
        app: KeyedApp,
        chat: OpenChat,
        prompt: Prompt,
        actions: MessageActions,
        history: HistoryActions,
        saved: SavedChats,
        pulls: PullQueue,
        ask: Ask,
    ) -> None:
        self._app = app
        self._chat = chat
        self._prompt = prompt
        self._actions = actions
        self._history = history
        self._saved = saved
        self._pulls = pulls
        self._ask = ask

    def return_to_chat(self) -> None:
        """Close whatever lies above the chat."""
        while len(self._app.screen_stack) > 1:
            self._app.pop_screen()

    def compare_last(self) -> None:
        """Compare the last prompt without and with drafting."""
        try:
            self.compare("")
        except BadInput as error:
            self._chat.view.note(str(error), "warning")

    def compare(self, text: str, *, sweep: bool = False) -> None:
        """Run the comparison that a text describes, unless an answer is still being written."""
        self.return_to_chat()
        keys, chat = self._app.keys, self._chat
        if chat.running is not None:
            raise BadInput(
                keys.fill_in("An answer is being written. Stop it with {chat.stop}, then compare.")
            )
        read = read_sweep if sweep else read_compare
        plan = read(text, chat.conversation, chat.settings.for_answer(drafting=True))
        self._app.push_screen(CompareScreen(chat.link, keys, plan=plan))

    def comparisons(self) -> None:
        """List the comparisons that were kept."""
        self.return_to_chat()
        self._app.push_screen(ComparisonsScreen(self._app.keys, self._ask))

    def comparison(self, record: Record) -> None:
        """Show one of their list; the second Enter in one read opens nothing more."""
        if isinstance(self._app.screen, ComparisonsScreen):
            self._app.push_screen(CompareScreen(self._chat.link, self._app.keys, record=record))

    def welcome(self) -> None:
        """Explain the built-in pair and offer real ones, as at the first start."""
        self.return_to_chat()
        name = self._chat.link.pair.name
        screen = FirstRunScreen(name, self._app.keys, lambda text: self._prompt.area.insert(text))
        self._app.push_screen(screen, lambda chosen: self.pairs(chosen) if chosen is not None else None)

    def sessions(self, text: str) -> None:
        """List the saved chats, those that fit a search if there is a text."""
        self.return_to_chat()
        sessions = SessionsScreen(self._saved, self._app.keys, text)

        async def open_chat(row: ChatRow | None) -> None:
            if row is not None:
                await self._open_chat(row, sessions.words)

        self._app.push_screen(sessions, open_chat)

    def pairs(self, chosen: str | None = None) -> None:
        """List the pairs, with one of them in view."""
        self.return_to_chat()
        pairs = PairsScreen(self._chat.link.pair, self._pulls, self._app.keys, self._ask, chosen)
        self._app.push_screen(pairs, self.use)

    def use(self, pair: Pair | None) -> None:
        """Answer with this pair from here on; None changes nothing."""
        if pair is not None and pair.spec != self._chat.link.pair:
            self._chat.view.note(f"Opening {pair.name}. The conversation goes on with it.")
            self._chat.use(pair.spec)

    async def _open_chat(self, row: ChatRow, words: list[str]) -> None:
        try:
            if row.chat.id != self._chat.conversation.chat.id:
                await self._history.resume(row.chat.id)
            if row.hit is not None:
                self._actions.show_hit(row.hit, words)
        except AppError as error:
            self._chat.view.note(str(error), "error")
