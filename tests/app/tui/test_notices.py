"""Toasts: how long one stays, and what makes it go."""

import pytest

from app.tui.app import ChatApp
from tests.app.tui.chat_driver import OpenChat


async def test_a_toast_about_a_typing_mistake_goes_when_it_is_read_and_with_the_next_prompt(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []
    notify = ChatApp.notify

    def watched(app: ChatApp, message: str, **options: float) -> None:
        seconds.append(options["timeout"])
        notify(app, message, **options)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(ChatApp, "notify", watched)
    async with open_chat((80, 24), toasts=True) as chat:
        await chat.type("/nonsense")
        await chat.shows("There is no command /nonsense.")
        assert seconds[-1] < 10
        await chat.ask("hello")
        assert "/nonsense" not in chat.screen
        await chat.type("fail")
        await chat.shows("scripted failure")
        assert seconds[-1] > 20
        await chat.ask("hello")
        assert "scripted failure" in chat.screen, "an error stays until it was read"
