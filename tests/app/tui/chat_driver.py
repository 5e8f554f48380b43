"""Drives the running app the way a person does, and waits for conditions to become true."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from textual.events import Key
from textual.pilot import Pilot
from textual.screen import Screen

from app.tui.app import ChatApp
from app.tui.widgets.answer import Answer
from app.tui.widgets.key_line import KeyLine
from app.tui.widgets.message import UserMessage

S = TypeVar("S", bound=Screen[Any])
By = str | Sequence[str]
"""What is done before a wait: a key, several keys, or a command, which begins with a slash."""


class Chat:
    """The running app: what tests do with it and read from it."""

    def __init__(self, app: ChatApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot
        self.press = pilot.press
        self.patience = 60.0
        """Longest wait for a condition, in seconds."""
        self.area = app.chat.prompt.area

    @property
    def notices(self) -> list[str]:
        return [notice.text for notice in self.app.chat.view.notices.kept]

    @property
    def prompts(self) -> list[str]:
        """The prompts of the branch in view."""
        return [message.text for message in self.app.state.conversation.path if message.role == "user"]

    @property
    def answers(self) -> list[Answer]:
        """The finished answers."""
        return [answer for answer in self.app.chat.query(Answer) if not answer.growing]

    @property
    def growing(self) -> list[Answer]:
        return [answer for answer in self.app.chat.query(Answer) if answer.growing]

    @property
    def screen(self) -> str:
        """The drawn screen as text."""
        return "\n".join(strip.text for strip in self.app.screen._compositor.render_strips())

    async def until(self, holds: Callable[[], bool], by: By = ()) -> None:
        """Wait for a condition; fails after `patience` seconds."""
        await self._do(by)
        end = time.monotonic() + self.patience
        while not holds():
            if self.app._exception is not None:
                raise self.app._exception
            assert time.monotonic() < end, f"still not true; notices: {self.notices}"
            await asyncio.sleep(0.01)

    async def _do(self, by: By) -> None:
        is_command = isinstance(by, str) and by.startswith("/")
        await (self.type(str(by)) if is_command else self.press(*([by] if isinstance(by, str) else by)))

    async def reached(self, kind: type[S], by: By = ()) -> S:
        """Wait for a screen to be in view; return it."""
        await self._do(by)
        await self.until(lambda: isinstance(self.app.screen, kind) and self.app.screen.is_mounted)
        screen = self.app.screen
        assert isinstance(screen, kind)
        return screen

    async def noticed(self, *texts: str, by: By = ()) -> None:
        """Wait for notices with these texts."""
        await self._do(by)
        await self.until(lambda: all(any(text in notice for notice in self.notices) for text in texts))

    async def shows(self, *texts: str, by: By = ()) -> None:
        """Wait for these texts to be drawn."""
        await self._do(by)
        await self.until(lambda: all(text in self.screen for text in texts))

    async def push(self, screen: S) -> S:
        """Open a screen and wait for it to be in view."""
        self.app.push_screen(screen)
        await self.until(lambda: self.app.screen is screen and screen.is_mounted)
        await self.pilot.pause()
        return screen

    async def back_in_chat(self, by: By = ()) -> None:
        await self._do(by)
        await self.until(lambda: self.app.screen is self.app.chat)

    async def has(self, text: str, by: By = ()) -> None:
        """Wait for this text in the prompt."""
        await self._do(by)
        await self.until(lambda: self.area.text == text)

    async def answered(self, count: int, by: By = ()) -> None:
        """Wait for so many finished answers."""
        await self._do(by)
        await self.until(lambda: len(self.answers) == count)

    async def exited(self, by: By = ()) -> None:
        """Wait for the program to end."""
        await self._do(by)
        await self.until(lambda: self.app._exit)

    async def type(self, text: str) -> None:
        """Put text into the prompt and press Enter."""
        self.area.load_text(text)
        await self.pilot.pause()
        sends = self.area.has_focus and not self.app.chat.prompt.menu.is_open
        await self.press("enter")
        if not sends and self.area.text == text:  # The key chose the command, or the prompt.
            await self.press("enter")

    def press_at_once(self, *keys: str) -> None:
        """Keys that the terminal gives in one read: all are queued before the first is handled."""
        for key in keys:
            character = {"enter": "\r", "space": " ", "slash": "/"}.get(key, key if len(key) == 1 else None)
            self.app.post_message(Key(key, character))

    async def ask(self, text: str) -> Answer:
        """Send a prompt and wait for its finished answer."""
        count = len(self.answers)
        await self.type(text)
        await self.until(lambda: len(self.answers) > count)
        return self.answers[-1]

    async def stream(self, text: str = "slow") -> None:
        """Send a prompt and wait for the first words of its answer."""
        await self.type(text)
        await self.until(lambda: bool(self.app.state.running and self.app.state.running.log.text))

    async def settled(self, by: By = ()) -> None:
        await self._do(by)
        await self.until(lambda: self.app.state.running is None)
        await self.pilot.pause()

    async def edit(self, *keys: str) -> None:
        """Open a prompt among the messages for editing; these keys choose it."""
        await self.press("tab", *keys, "e")
        await self.until(lambda: self.app.state.editing is not None and bool(self.area.text))


async def until_quiet(app: ChatApp, *_: float) -> None:
    """Wait until no widget has a queued message; replaces Textual's own wait after each key.

    Textual waits until the process is idle: on a busy machine it ends too early, and with a streaming answer
    a second too late.
    """
    end = time.monotonic() + 1
    quiet = 0
    await asyncio.sleep(0.01)
    while quiet < 3 and time.monotonic() < end:
        waits = any(node.message_queue_size for node in (app, *app._registry))
        quiet = 0 if waits else quiet + 1
        await asyncio.sleep(0.002 if waits else 0)  # else half of these tests' time would be this loop


OpenChat = Callable[..., AbstractAsyncContextManager[Chat]]


def shown(chat: Chat) -> list[str]:
    widgets = chat.app.chat.query("UserMessage, Answer").results()
    return [f"{w.branch}{w.text}" for w in widgets if isinstance(w, UserMessage | Answer)]


def keys_shown(chat: Chat) -> str:
    """The text of the key line; empty until all its keys are drawn whole."""
    line = chat.app.screen.query_one(KeyLine)
    drawn = "".join(segment.text for segment in line.render_line(0))
    keys = [text.plain.strip() for text, _ in line.keys]
    return " ".join(keys) if all(key in drawn for key in keys) else ""
