import time
from collections.abc import Callable

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from app.tui.widgets.item_list import ItemList
from tests.app.tui.chat_driver import OpenChat, pairs_screen


class Listing(App[None]):
    CSS = "ItemList { height: 1fr; } Static { height: auto; }"

    def compose(self) -> ComposeResult:
        yield ItemList(*map(str, range(20)))
        yield Static()


def is_in_sight(items: ItemList) -> bool:
    """For items of one line."""
    first = round(items.scroll_offset.y)
    assert items.highlighted is not None
    return first <= items.highlighted < first + items.scrollable_content_region.height


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not holds():
        assert time.monotonic() < end
        await pilot.pause(0.02)


async def test_the_highlighted_item_stays_in_sight_where_the_list_becomes_shorter() -> None:
    app = Listing()
    async with app.run_test(size=(40, 12)) as pilot:
        items = app.query_one(ItemList)
        items.highlighted = items.scrollable_content_region.height - 1
        await pilot.pause()
        app.query_one(Static).update("\n".join("abcdef"))
        await until(pilot, lambda: items.scrollable_content_region.height < 7 and is_in_sight(items))


async def test_the_highlighted_item_is_in_sight_where_the_list_was_filled_anew() -> None:
    app = Listing()
    async with app.run_test(size=(40, 12)) as pilot:
        items = app.query_one(ItemList)
        items.clear_options()
        items.add_options(map(str, range(30)))
        items.highlighted = 29
        await until(pilot, lambda: is_in_sight(items))


@pytest.mark.parametrize("name", ["builtin", "mistral-small-24b"])
async def test_the_pair_that_is_told_about_is_in_sight(open_chat: OpenChat, name: str) -> None:
    async with open_chat(size=(80, 24)) as chat:
        screen = pairs_screen(chat.app, name)
        await chat.app.push_screen(screen)
        await chat.until(lambda: all(facts.fit for facts in screen.facts.values()))
        await chat.until(lambda: is_in_sight(screen.query_one(ItemList)))
