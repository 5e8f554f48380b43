"""A pair of one's own: checked before it is added."""

import os
from pathlib import Path

import pytest
from textual.widgets import Input

from app.tui.screens.own_pair import OwnPairScreen
from models.pairs.catalogue import all_pairs, find
from tests.app.tui.chat_driver import Chat, OpenChat
from tests.app.tui.conftest import FIRST
from tests.app.tui.pairs_driver import answer, open_pairs, rows, text_of
from tests.models.conftest import STAND_IN
from tests.models.hub_server import HostedModel, HubServer
from tests.models.tiny_models import files_of, make_model, make_pair, make_tokenizer

pytestmark = pytest.mark.usefixtures("own_hub_cache")


async def add_own(chat: Chat, target: str, draft: str) -> str:
    """Add an own pair; return the screen's final message."""
    await open_pairs(chat)
    await chat.press("a")
    await chat.reached(OwnPairScreen)
    screen = chat.app.screen
    screen.query_one("#own-target", Input).value = target
    screen.query_one("#own-draft", Input).value = draft
    screen.query_one("#own-draft", Input).focus()
    await chat.press("enter")
    await chat.until(lambda: chat.app.screen is not screen or text_of(chat, "#message").startswith("✗"))
    if chat.app.screen is screen:
        return text_of(chat, "#message")
    await chat.until(lambda: not text_of(chat, "#message").startswith("Enter uses a pair, or"))
    return text_of(chat, "#message")


async def test_an_own_pair_that_names_no_model_or_the_larger_one_as_its_draft_is_refused(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    target, draft = make_pair(tmp_path / "made")
    async with open_chat() as chat:
        refusal = await add_own(chat, str(draft), str(target))
        assert "is not smaller than the target" in refusal and "Swap them" in refusal
        assert {pair.own for pair in all_pairs()} == {False}
        field = chat.app.screen.query_one("#own-target", Input)
        field.focus()
        for text, reason in (("", "Name a target first"), ("foo bar", "foo bar")):
            field.value = text
            await chat.press("enter")
            await chat.until(lambda reason=reason: reason in text_of(chat, "#message"))
            assert field.has_focus and text_of(chat, "#message").startswith("✗")


async def test_an_own_pair_is_checked_kept_used_and_forgotten(open_chat: OpenChat, tmp_path: Path) -> None:
    target, draft = make_pair(tmp_path / "made")
    async with open_chat() as chat:
        assert "belong together" in await add_own(chat, str(target), str(draft))
        pair = find("target")
        assert pair.own and pair.memory_bytes > 300_000_000 and pair.download_bytes == 0
        await chat.press("enter")
        await chat.until(lambda: chat.app.link.pair == pair.spec)
        assert "known already" in await add_own(chat, str(target), str(draft))
        await chat.press("escape", "escape")
        chat.app.link.pair = find("builtin").spec
        screen = await open_pairs(chat, "target")
        await chat.press("x")
        await answer(chat, "y")
        await chat.until(lambda: "target" not in rows(screen))
        assert target.is_dir() and "target" not in {pair.name for pair in all_pairs()}


async def test_a_pair_whose_models_do_not_belong_together_is_refused_with_the_reason(
    open_chat: OpenChat, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = os.environ["PYTHONPATH"].split(os.pathsep)
    # Comparing tokenizers needs the real transformers.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path != str(STAND_IN)))
    other = make_model(tmp_path / "other", pard_token=3)  # with mask tokens a draft is not translated
    make_tokenizer(other, text=("entirely other words " * 30,))
    hub.models["org/other"] = HostedModel(files_of(other))
    known = find(FIRST).target.repo
    async with open_chat() as chat:
        assert "read text differently" in await add_own(chat, known, "org/other")
        assert "model.safetensors" not in hub.downloads()
        await chat.press("escape", "escape")
        assert f"Did you mean {known}" in await add_own(chat, known[:-1], "org/other")
        assert {pair.own for pair in all_pairs()} == {False}
