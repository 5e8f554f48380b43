"""A conversation of thousands of messages: widgets exist around the view only, and nothing jumps."""

import time

from app.tui.widgets.message import UserMessage
from app.tui.widgets.transcript import BATCH, KEPT
from tests.app.history.some_chat import answer, chat, prompt
from tests.app.tui.chat_driver import OpenChat

TURNS = 1000


def long_chat():
    messages = []
    parent = None
    for turn in range(TURNS):
        messages.append(prompt(f"p{turn}", f"question {turn}", parent))
        messages.append(answer(f"a{turn}", f"p{turn}", f"An **answer** to {turn}.\n\n- one\n- two"))
        parent = f"a{turn}"
    return chat(leaf=parent), messages


async def test_two_thousand_messages_open_at_once_and_can_all_be_reached(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as opened:
        view = opened.app.chat.transcript
        start = time.process_time()
        opened.app.state.resume(*long_chat())
        await opened.until(lambda: bool(opened.answers) and view.is_vertical_scroll_end)
        spent = time.process_time() - start
        assert spent < 1.5, f"{spent:.2f} s of processor time"
        assert len(opened.answers) <= BATCH
        assert any(w.text == f"question {TURNS - 1}" for w in opened.app.chat.query(UserMessage))
        for _ in range(12):
            before = first_seen(opened)
            await opened.pilot.press("pageup")
            await opened.pilot.pause()
            await opened.until(lambda: not view._moving)
            assert 0 <= before - first_seen(opened) <= 12, "a page up shows the page before"
        assert len(opened.app.chat.query("UserMessage, Answer")) <= KEPT
        reached = first_seen(opened)
        assert reached < TURNS - BATCH
        await opened.pilot.press("ctrl+end")
        await opened.until(lambda: view.is_vertical_scroll_end and last_seen(opened) == TURNS - 1)
        assert (await opened.ask("hello")).text


async def test_what_the_program_says_further_up_is_seen_there_and_moves_nothing(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as opened:
        view = opened.app.chat.transcript
        opened.app.state.resume(*long_chat())
        await opened.until(lambda: bool(opened.answers) and view.is_vertical_scroll_end)
        view.go_to("p400")
        await opened.until(lambda: 400 in seen(opened))
        place = view.scroll_y
        await opened.type("/seed 7")
        await opened.until(lambda: any("Seed is 7" in one.message for one in opened.app._notifications))
        assert 400 in seen(opened) and view.scroll_y == place
        await opened.pilot.press("ctrl+end")
        await opened.until(lambda: any(notice.startswith("Seed is 7") for notice in opened.notices))


def seen(opened) -> list[int]:
    view = opened.app.chat.transcript
    return [
        int(widget.text.split()[-1])
        for widget in opened.app.chat.query(UserMessage)
        if view.scroll_y - 6 <= widget.virtual_region.y < view.scroll_y + view.size.height
    ]


def first_seen(opened) -> int:
    return min(seen(opened))


def last_seen(opened) -> int:
    return max(seen(opened))


async def test_thoughts_asked_for_where_there_are_none_are_told(open_chat: OpenChat) -> None:
    async with open_chat() as opened:
        await opened.ask("hello")
        await opened.type("/think")
        await opened.until(lambda: "There are no thoughts in this answer." in opened.notices)
