"""A terminal of forty columns: lists have all of them, and what is said is said to its end."""

from textual.widgets import Input, OptionList

from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.sessions import SessionsScreen
from tests.app.tui.chat_driver import Chat, OpenChat

FORTY_COLUMNS = (40, 24)


def list_width(chat: Chat) -> int:
    return chat.app.screen.query_one(OptionList).region.width


async def test_a_filter_takes_no_columns_from_the_list_of_pairs(open_chat: OpenChat) -> None:
    async with open_chat(size=FORTY_COLUMNS) as chat:
        await chat.pilot.press("f2")
        await chat.until(lambda: isinstance(chat.app.screen, PairsScreen) and chat.app.screen.is_mounted)
        await chat.until(lambda: list_width(chat) == 40)
        await chat.pilot.press("slash")
        await chat.until(lambda: chat.app.screen.query_one(Input).display)
        await chat.pilot.pause()
        assert list_width(chat) == 40


async def test_the_search_takes_no_columns_from_the_list_of_chats(open_chat: OpenChat) -> None:
    async with open_chat(size=FORTY_COLUMNS) as chat:
        await chat.ask("a title of twenty-two")
        await chat.pilot.press("f6")
        await chat.until(lambda: isinstance(chat.app.screen, SessionsScreen) and bool(chat.app.screen.rows))
        await chat.until(lambda: list_width(chat) == 40 and "a title of twenty-two" in chat.screen)


async def test_what_an_empty_field_of_an_own_pair_means_is_whole(open_chat: OpenChat) -> None:
    async with open_chat(size=FORTY_COLUMNS) as chat:
        await chat.pilot.press("f2")
        await chat.until(lambda: isinstance(chat.app.screen, PairsScreen) and chat.app.screen.is_mounted)
        await chat.pilot.press("a")
        await chat.until(lambda: isinstance(chat.app.screen, OwnPairScreen))
        await chat.until(lambda: "left empty, one that fits" in chat.screen)
