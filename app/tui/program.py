"""The app as its screens and widgets know it."""

from textual.app import App

from app.chat.engine_link import EngineLink
from app.chat.open_chat import OpenChat
from app.chat.pull_queue import PullQueue
from app.chat.saved_chats import SavedChats
from app.settings.config import Config
from app.tui.keys.in_force import Keys


class Program(App[None]):
    config: Config
    keys: Keys
    link: EngineLink
    state: OpenChat
    saved: SavedChats
    pulls: PullQueue

    def applies(self, action: str) -> bool:
        """Whether what a key does is of use now. Others are not offered; pressed, they say why not."""
        return True
