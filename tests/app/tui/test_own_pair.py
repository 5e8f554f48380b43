"""A pair of one's own: checked before it is added."""

from pathlib import Path

import pytest
from textual.widgets import Input

from app.tui.screens.own_pair import OwnPairScreen
from models.pairs.catalogue import all_pairs, find
from tests.app.tui.chat_driver import Chat, OpenChat
from tests.app.tui.conftest import FIRST
from tests.app.tui.pairs_driver import answer, open_pairs, rows, text_of
from tests.models.hub_server import HubServer
from tests.models.tiny_models import make_pair

pytestmark = pytest.mark.usefixtures("own_hub_cache")


async def add_own(chat: Chat, target: str, draft: str) -> str:
    """Add an own pair on the screen of pairs; return the final message."""
    screen = await chat.reached(OwnPairScreen, by="a")
    screen.query_one("#own-target", Input).value = target
    screen.query_one("#own-draft", Input).value = draft
    screen.query_one("#own-draft", Input).focus()
    await chat.press("enter")
    await chat.until(lambda: chat.app.screen is not screen or text_of(chat, "#message").startswith("✗"))
    if chat.app.screen is screen:
        return text_of(chat, "#message")
    await chat.until(lambda: not text_of(chat, "#message").startswith("Enter uses a pair, or"))
    return text_of(chat, "#message")


async def test_an_own_pair_is_checked_kept_used_and_forgotten_and_what_is_none_refused_with_the_reason(
    open_chat: OpenChat, hub: HubServer, tmp_path: Path
) -> None:
    target, draft = make_pair(tmp_path / "made")
    known = find(FIRST).target.repo
    async with open_chat(size=(80, 24)) as chat:
        screen = await open_pairs(chat)
        refusal = await add_own(chat, str(draft), str(target))
        assert "is not smaller than the target" in refusal and "Swap them" in refusal
        field = chat.app.screen.query_one("#own-target", Input)
        field.focus()
        for text, reason in (("", "Name a target first"), ("foo bar", "foo bar")):
            field.value = text
            await chat.press("enter")
            await chat.until(lambda reason=reason: reason in text_of(chat, "#message"))
            assert field.has_focus and text_of(chat, "#message").startswith("✗")
        await chat.press("escape")
        assert "a folder, or none" in await add_own(chat, str(target), "")
        await chat.press("escape")
        assert f"Did you mean {known}" in await add_own(chat, known[:-1], known)
        assert {pair.own for pair in all_pairs()} == {False}
        await chat.press("escape")
        assert "belong together" in await add_own(chat, str(target), str(draft))
        pair = find("target")
        assert pair.own and pair.memory_bytes > 300_000_000 and pair.download_bytes == 0
        assert "known already" in await add_own(chat, str(target), str(draft))
        await chat.press("escape")
        screen.show_list("target")
        await chat.press("enter")
        await chat.until(lambda: chat.app.link.pair == pair.spec)
        chat.app.link.pair = find("builtin").spec
        screen = await open_pairs(chat, "target")
        await chat.press("x")
        await answer(chat, "y")
        await chat.until(lambda: "target" not in rows(screen))
        assert target.is_dir() and "target" not in {pair.name for pair in all_pairs()}
