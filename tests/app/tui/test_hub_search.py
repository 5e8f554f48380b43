"""The search on the Hub, from the pairs: at a server on this machine, through the Hub's own library."""

import asyncio
import threading

import pytest
from textual.widgets import Input, OptionList

from app.tui.screens.hub_search import HubSearchScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.pairs import PairsScreen
from models.errors import ModelsError
from models.hub.search import FoundModel, search
from models.speed.machine import Machine
from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.pairs_driver import open_pairs, text_of
from tests.models.hub_server import HostedModel, HubServer

pytestmark = pytest.mark.usefixtures("own_hub_cache")


async def test_a_search_fails_aloud_and_finds_models_with_size_licence_draft_and_fit_that_become_targets(
    open_chat: OpenChat, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    mac = Machine(36_000_000_000, 500_000_000_000, has_metal=True)
    monkeypatch.setattr("app.tui.screens.hub_search.this_machine", lambda: mac)
    tags, small = ("mlx", "license:apache-2.0"), {"U32": 1_000_000_000}
    found = "mlx-community/Qwen3-9B-odd-Instruct-2507-4bit"
    hub.models[found] = HostedModel({}, tags=tags, downloads=1234, parameters=small)
    hub.models["org/Odd-400B-bf16"] = HostedModel({}, downloads=9, parameters={"BF16": 400_000_000_000})
    async with open_chat(size=(120, 40)) as chat:
        await open_pairs(chat)
        screen = await chat.reached(HubSearchScreen, by="h")
        await chat.until(lambda: "no MLX model for zzz" in text_of(chat, "#message"), by=(*"zzz", "enter"))
        await chat.pilot.resize_terminal(40, 12)
        await chat.until(lambda: {"no", "MLX", "model", "zzz."} <= set(chat.screen.split()))
        hub.status = 500
        await chat.until(lambda: "answers with error 500" in text_of(chat, "#message"), by="enter")
        message = text_of(chat, "#message").split()
        await chat.until(lambda: set(message) <= set(chat.screen.split()))
        hub.status = None
        go_on = threading.Event()

        def late(words: str) -> list[FoundModel]:
            assert go_on.wait(30)
            return search(words)

        monkeypatch.setattr("app.tui.screens.hub_search.search", late)
        await chat.press("ctrl+u", *"odd", "enter", "x")
        go_on.set()
        await chat.until(lambda: len(screen.models) == 2)
        assert "2 models for odd" in text_of(chat, "#message")
        assert chat.app.focused is screen.query_one(Input)
        await chat.pilot.resize_terminal(120, 40)
        await chat.press("ctrl+u", *"odd", "enter")
        await chat.until(lambda: chat.app.focused is screen.query_one(OptionList))
        rows = [str(option.prompt) for option in screen.query_one(OptionList).options]
        assert rows[0].split() == [found, "4.0", "GB", "1,234", "yes", "fits", "apache-2.0"]
        assert rows[1].split() == ["org/Odd-400B-bf16", "800.0", "GB", "9", "-", "does", "not", "fit"]
        drafters = "Drafted by\n↓ model: mlx-community/Qwen3-0.6B-4bit"
        await chat.until(lambda: drafters in text_of(chat, "#hub-details Static"))
        assert "✓ lookup, and recycling" in text_of(chat, "#hub-details Static")
        for width, name in ((80, " Qwen3-9B-odd-Instruct-2507-4bit "), (40, " Qwen3-9B-odd-Instruct")):
            await chat.pilot.resize_terminal(width, 24)
            await chat.until(lambda width=width: screen.size.width == width)
            await chat.shows(name, "4.0 GB")
        await chat.pilot.resize_terminal(40, 12)
        about = screen.query_one("#hub-details")
        await chat.until(lambda: "More" in chat.screen and about.max_scroll_y > 0)
        while "Here: fits" not in chat.screen:
            before = about.scroll_y
            await chat.until(lambda before=before: about.scroll_y > before, by="space")
            await chat.pilot.pause()
        await chat.until(lambda: about.scroll_y == 0, by=("down", "up"))
        await chat.press("enter")
        own = await chat.reached(OwnPairScreen)
        assert own.query_one("#own-target", Input).value == found
        assert own.query_one("#own-draft", Input).value == "mlx-community/Qwen3-0.6B-4bit"
        await chat.press("escape")
        await chat.reached(PairsScreen)


async def test_words_typed_right_behind_the_key_that_asks_for_them_are_in_the_field_slash_and_blank_too(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await open_pairs(chat)
        for key, kind in (("h", HubSearchScreen), ("a", OwnPairScreen)):
            chat.press_at_once(key, *"org", "slash", *"ca", "space", *"xh")
            field = (await chat.reached(kind)).query(Input).first()
            await chat.until(lambda field=field: field.value == "org/ca xh")
            await chat.press("escape")
            await chat.reached(PairsScreen)


async def test_a_name_that_is_no_repository_s_is_refused_and_nothing_found_has_no_facts(
    open_chat: OpenChat, hub: HubServer
) -> None:
    hub.models["evil/[red]model"] = HostedModel({}, tags=("mlx",))
    async with open_chat(size=(80, 24)) as chat:
        await open_pairs(chat)
        await chat.press("h", *"evil", "enter")
        await chat.until(lambda: "evil/[red]model" in text_of(chat, "#hub-details Static"))
        await chat.press("enter")
        await chat.reached(OwnPairScreen)
        await chat.until(lambda: "'evil/[red]model' is neither a folder" in text_of(chat, "#message"))
        await chat.press("escape")
        await chat.reached(PairsScreen)
        await chat.until(lambda: "evil" in text_of(chat, "#hub-details Static"), by=("h", *"evil", "enter"))
        await chat.press("slash", "ctrl+u", *"zzz", "enter")
        await chat.until(lambda: "no MLX model for zzz" in text_of(chat, "#message"))
        assert not text_of(chat, "#hub-details Static")


async def test_a_search_that_finds_more_than_it_shows_says_which_are_shown(
    open_chat: OpenChat, hub: HubServer
) -> None:
    hub.models |= {f"org/many-{number}": HostedModel({}, downloads=number) for number in range(51)}
    async with open_chat(size=(120, 40)) as chat:
        await open_pairs(chat)
        await chat.press("h", *"many", "enter")
        await chat.until(lambda: "50 models for many, those downloaded most." in text_of(chat, "#message"))


async def test_what_an_earlier_search_brings_late_does_not_replace_what_the_later_one_found(
    open_chat: OpenChat, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def slow_then_quick(words: str) -> list[FoundModel]:
        if words != "first":
            return search(words)
        begun.set()
        go_on.wait(20)
        ended.set()
        raise ModelsError("the first search failed")

    monkeypatch.setattr("app.tui.screens.hub_search.search", slow_then_quick)
    async with open_chat(size=(120, 40)) as chat:
        await open_pairs(chat)
        await chat.until(begun.is_set, by=("h", *"first", "enter"))
        await chat.press("ctrl+u", *"second", "enter")
        await chat.until(lambda: "no MLX model for second" in text_of(chat, "#message"))
        go_on.set()
        await chat.until(ended.is_set)
        await asyncio.sleep(0.1)  # the thread hands its result over
        assert "no MLX model for second" in text_of(chat, "#message")
