"""The wheel and the scrollbar, also while an answer is being written; clicks, and the other buttons."""

from textual.events import MouseDown, MouseScrollDown, MouseScrollUp, MouseUp
from textual.geometry import Offset
from textual.widgets import OptionList

from app.tui.screens.sessions import SessionsScreen
from app.tui.widgets.key_line import KeyLine
from tests.app.tui.chat_driver import Chat, OpenChat


async def turn(chat: Chat, kind: type[MouseScrollUp] | type[MouseScrollDown], y: int, times: int) -> None:
    """Turns of the wheel that the terminal gives in one read."""
    for _ in range(times):
        chat.app.post_message(kind(None, 20, y, 0, 0, 0, False, False, False))
    await chat.pilot.pause()


async def follows(chat: Chat) -> None:
    view = chat.app.chat.transcript
    height = view.max_scroll_y
    await chat.until(lambda: view.max_scroll_y > height + 4 and view.is_vertical_scroll_end)


async def test_each_turn_of_the_wheel_counts_wherever_the_pointer_is(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 20)) as chat:
        view = chat.app.chat.transcript
        for _ in range(3):
            await chat.ask("markdown")
        for y in (3, chat.area.region.y):
            await chat.until(lambda: view.max_scroll_y > 40 and view.is_vertical_scroll_end)
            await turn(chat, MouseScrollUp, y, 10)
            lines = 10 * chat.app.scroll_sensitivity_y
            await chat.until(lambda lines=lines: view.max_scroll_y - view.scroll_y >= lines)
            await turn(chat, MouseScrollDown, y, 100)  # the last answer may have grown meanwhile
            await chat.until(lambda: view.is_vertical_scroll_end)


async def test_the_wheel_turned_further_than_the_end_goes_on_following_the_answer(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(50, 16)) as chat:
        view = chat.app.chat.transcript
        await chat.ask("markdown")
        await chat.stream()
        await follows(chat)
        for y in (3, chat.area.region.y):
            await turn(chat, MouseScrollUp, y, 4)
            await chat.until(lambda: not view.is_vertical_scroll_end)
            await turn(chat, MouseScrollDown, y, 100)
            await follows(chat)


async def test_the_bar_drawn_up_stays_there_drawn_beyond_the_end_it_follows_the_answer_again(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(50, 16)) as chat:
        view = chat.app.chat.transcript
        for _ in range(2):
            await chat.ask("markdown")
        await chat.stream()
        await follows(chat)
        bar = view.vertical_scrollbar.region
        await chat.pilot.mouse_down(offset=(bar.x, bar.bottom - 1))
        await chat.pilot.hover(offset=(bar.x, bar.bottom - 4))
        await chat.until(lambda: not view.is_vertical_scroll_end)
        await chat.pilot.hover(offset=(bar.x, chat.app.size.height - 1))
        await follows(chat)
        await chat.pilot.mouse_up(offset=(bar.x, chat.app.size.height - 1))
        await follows(chat)


async def test_a_click_on_the_line_of_a_thought_unfolds_it_and_another_folds_it(open_chat: OpenChat) -> None:
    async with open_chat(asked="think") as chat:
        [answer] = chat.answers
        await chat.until(lambda: answer.region.height == 5)
        for height, is_shown in ((7, True), (5, False)):
            await chat.pilot.click(answer, offset=(4, 0))
            await chat.until(lambda height=height: answer.region.height == height)
            assert ("one two three" in chat.screen) is is_shown
        assert chat.app.focused is chat.area


async def test_the_right_and_the_middle_button_open_and_copy_nothing(
    open_chat: OpenChat, copied: list[str]
) -> None:
    async with open_chat(size=(80, 24), asked="think") as chat:
        [answer] = chat.answers
        await chat.until(lambda: answer.region.height == 5)
        thought, keys = answer.region.offset + (4, 0), chat.app.chat.query_one(KeyLine).region.offset
        for button in (2, 3):
            for place in (thought, answer.region.top_right + (-4, 2), keys + (2, 0)):
                await click(chat, place, button)
        assert not answer.unfolded and not copied and chat.app.state.settings.drafts
        screen = await chat.reached(SessionsScreen, by="f6")
        await chat.until(lambda: screen.chosen is not None)
        place = screen.query_one(OptionList).content_region.offset + (2, 1)
        await click(chat, place, 3)
        assert chat.app.screen is screen
        await click(chat, place, 1)
        await chat.back_in_chat()
        await click(chat, thought, 1)
        await chat.until(lambda: answer.unfolded)


async def click(chat: Chat, place: Offset, button: int) -> None:
    """As it comes from the terminal; the pilot gives it to the screen."""
    for kind in (MouseDown, MouseUp):
        chat.app.post_message(kind(None, *place, 0, 0, button, False, False, False))
    await chat.pilot.pause()
