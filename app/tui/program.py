"""The interface of the app for its screens and widgets."""

import subprocess
import sys

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

    async def submit(self, text: str, *, at_once: bool = False) -> None:
        """Send a prompt, `at_once` in place of the answer in progress, or run a typed command."""

    def copy_to_clipboard(self, text: str) -> None:
        """macOS' Terminal ignores the escape sequence that others understand."""
        if sys.platform == "darwin":
            subprocess.run(["/usr/bin/pbcopy"], input=text.encode(), check=False)
        super().copy_to_clipboard(text)
