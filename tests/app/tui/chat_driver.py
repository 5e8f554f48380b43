"""Drives the running app the way a person does, and waits for what has to become true."""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from textual.pilot import Pilot

from app.tui.app import ChatApp
from app.tui.widgets.answer import Answer
from app.tui.widgets.notice import Notice
from app.tui.widgets.prompt import PromptArea


class Chat:
    """The running app with what tests ask of it."""

    def __init__(self, app: ChatApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def notices(self) -> list[str]:
        return [notice.text for notice in self.app.chat.query(Notice)]

    @property
    def answers(self) -> list[Answer]:
        return list(self.app.chat.query(Answer))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for something to become true; fails after half a minute."""
        end = time.monotonic() + 30
        while not holds():
            assert time.monotonic() < end, f"still not true; notices: {self.notices}"
            await self.pilot.pause(0.02)

    async def type(self, text: str) -> None:
        """Put text into the prompt and press Enter."""
        area = self.app.chat.query_one(PromptArea)
        area.load_text(text)
        await self.pilot.pause()
        await self.pilot.press("enter")
        if area.text == text:  # The command list took the key to close itself.
            await self.pilot.press("enter")

    async def ask(self, text: str) -> Answer:
        """Send a prompt and wait for its finished answer."""
        count = len(self.answers)
        await self.type(text)
        await self.until(lambda: len(self.answers) > count)
        return self.answers[-1]


OpenChat = Callable[..., AbstractAsyncContextManager[Chat]]
