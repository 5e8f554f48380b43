"""A terminal of ten rows: what is typed and what is chosen stay in view."""

from textual.widgets import Input, OptionList

from app.tui.screens.comparisons import ComparisonsScreen
from app.tui.screens.inspector import InspectorScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.widgets.key_line import KeyLine
from app.tui.widgets.prompt_area import PromptArea
from tests.app.tui.chat_driver import Chat, OpenChat

TEN_ROWS = (40, 10)


def rows_in_view(chat: Chat) -> int:
    """Of the list on the screen in front."""
    return chat.app.screen.query_one(OptionList).content_size.height


def stands_below(chat: Chat) -> bool:
    """Nothing of the screen in front is pushed off its end."""
    return chat.app.screen.query_one(KeyLine).region.bottom == 10 and chat.app.screen.max_scroll_y == 0


async def test_the_prompt_is_seen_below_the_list_of_commands(open_chat: OpenChat) -> None:
    async with open_chat(size=TEN_ROWS) as chat:
        await chat.pilot.press("slash", "t", "e")
        await chat.until(lambda: "/te" in chat.screen and "likeliest" in chat.screen)
        await chat.pilot.press("backspace", "backspace")
        await chat.until(lambda: chat.app.chat.prompt.query_one(OptionList).option_count > 9)
        assert stands_below(chat) and chat.app.chat.query_one(PromptArea).region.bottom == 8


async def test_a_long_prompt_leaves_the_lines_below_it_in_view(open_chat: OpenChat) -> None:
    async with open_chat(size=TEN_ROWS) as chat:
        await chat.pilot.press(*["ctrl+j"] * 9, "x")
        await chat.until(lambda: "x" in chat.app.chat.query_one(PromptArea).text)
        await chat.pilot.pause()
        assert stands_below(chat)


async def test_pairs_can_be_chosen_and_filtered(open_chat: OpenChat) -> None:
    async with open_chat(size=TEN_ROWS) as chat:
        await chat.pilot.press("f2")
        await chat.until(lambda: isinstance(chat.app.screen, PairsScreen) and chat.app.screen.is_mounted)
        await chat.until(lambda: rows_in_view(chat) >= 2)
        await chat.pilot.press("slash", "f", "i", "t", "s")
        await chat.until(lambda: chat.app.screen.query_one(Input).display)
        await chat.until(lambda: rows_in_view(chat) >= 2)
        assert stands_below(chat)


async def test_chats_can_be_chosen_though_a_line_says_what_was_done(open_chat: OpenChat) -> None:
    async with open_chat(size=TEN_ROWS) as chat:
        await chat.ask("a prompt whose beginning is the title of a chat and long enough for two lines")
        await chat.pilot.press("f6")
        await chat.until(lambda: isinstance(chat.app.screen, SessionsScreen) and bool(chat.app.screen.rows))
        await chat.pilot.press("d")
        await chat.until(lambda: "Deleted" in chat.screen)
        assert rows_in_view(chat) >= 2 and stands_below(chat)


async def test_rounds_can_be_walked(open_chat: OpenChat) -> None:
    async with open_chat(size=TEN_ROWS) as chat:
        await chat.ask("hello")
        await chat.pilot.press("f8")
        await chat.until(lambda: isinstance(chat.app.screen, InspectorScreen) and chat.app.screen.is_mounted)
        await chat.until(lambda: rows_in_view(chat) >= 2)
        assert stands_below(chat)


async def test_kept_comparisons_can_be_chosen(open_chat: OpenChat) -> None:
    async with open_chat(size=TEN_ROWS) as chat:
        await chat.ask("hello")
        await chat.pilot.press("f5")
        await chat.until(lambda: "2.00 times" in chat.screen)
        assert stands_below(chat)
        await chat.pilot.press("escape")
        await chat.type("/comparisons")
        await chat.until(lambda: isinstance(chat.app.screen, ComparisonsScreen))
        await chat.until(lambda: rows_in_view(chat) >= 2)
        assert stands_below(chat)
