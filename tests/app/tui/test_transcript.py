"""A conversation of thousands of messages: only those around the view have widgets, and nothing jumps."""

import pytest
from textual.events import MouseScrollUp
from textual.geometry import Size

from app.engine.events import Piece
from app.history.records import Chat as StoredChat
from app.history.records import ChatMessage
from app.tui.widgets.message import UserMessage
from app.tui.widgets.transcript import BATCH, KEPT, Transcript
from tests.app.history.some_chat import answer, chat, prompt
from tests.app.tui.chat_driver import Chat, OpenChat

TURNS = 1000


def long_chat(turns: int = TURNS) -> tuple[StoredChat, list[ChatMessage]]:
    messages: list[ChatMessage] = []
    parent = None
    for turn in range(turns):
        messages.append(prompt(f"p{turn}", f"question {turn}", parent))
        messages.append(answer(f"a{turn}", f"p{turn}", f"An **answer** to {turn}.\n\n- one\n- two"))
        parent = f"a{turn}"
    return chat(leaf=parent), messages


def seen(opened: Chat) -> list[int]:
    view = opened.app.chat.transcript
    return [
        int(widget.text.split()[-1])
        for widget in opened.app.chat.query(UserMessage)
        if view.scroll_y - 6 <= widget.virtual_region.y < view.scroll_y + view.size.height
    ]


async def test_two_thousand_messages_open_at_once_and_can_be_reached(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as opened:
        view = opened.app.chat.transcript
        opened.app.state.resume(*long_chat())
        await opened.until(lambda: 0 < view.max_scroll_y == view.scroll_y and bool(seen(opened)))
        assert len(opened.answers) <= BATCH
        assert max(seen(opened)) == TURNS - 1
        for _ in range(12):
            before = min(seen(opened))
            await opened.press("pageup")
            await opened.until(lambda before=before: bool(seen(opened)) and min(seen(opened)) < before)
            await opened.pilot.pause()
            await opened.pilot.pause()
            assert before - min(seen(opened)) <= 12, "a page up shows the page before"
        assert len(opened.app.chat.query("UserMessage, Answer")) <= KEPT
        assert min(seen(opened)) < TURNS - BATCH
        view.go_to("p400")
        await opened.until(lambda: 400 in seen(opened))
        place = view.scroll_y
        await opened.type("/seed 7")
        await opened.until(lambda: any("Seed is 7" in one.message for one in opened.app._notifications))
        assert 400 in seen(opened) and view.scroll_y == place
        first = min(seen(opened))
        for columns in (24, 80):
            await opened.pilot.resize_terminal(columns, 24)
            await opened.until(lambda columns=columns: abs(view.size.width - columns) <= 2)
            await opened.until(lambda: bool(seen(opened)) and abs(min(seen(opened)) - first) <= 1)
        await opened.until(lambda: min(seen(opened), default=1) == 0, by=("tab", "home"))
        await opened.until(lambda: max(seen(opened), default=0) == TURNS - 1, by="end")
        await opened.press("home", "tab", "ctrl+end")
        await opened.until(lambda: any(notice.startswith("Seed is 7") for notice in opened.notices))
        await opened.until(lambda: view.is_vertical_scroll_end and max(seen(opened)) == TURNS - 1)
        assert (await opened.ask("hello")).text


async def test_of_page_keys_read_together_each_one_counts(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as opened:
        view = opened.app.chat.transcript
        opened.app.state.resume(*long_chat(turns=BATCH))
        await opened.until(lambda: 0 < view.max_scroll_y == view.scroll_y)
        page = view.scrollable_content_region.height
        opened.press_at_once("pageup", "pageup", "pageup", "pagedown")
        await opened.until(lambda: view.max_scroll_y - view.scroll_y == 2 * page)


async def test_the_lines_being_read_stay_in_view_when_an_answer_grows_and_the_terminal_changes(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(80, 24)) as opened:
        view = opened.app.chat.transcript
        opened.app.state.resume(*long_chat(turns=1))
        await opened.until(lambda: bool(opened.answers))
        (answer,) = opened.answers

        async def grow(first: int) -> None:
            height = view.max_scroll_y
            answer.add([Piece("".join(f"word{n}\n\n" for n in range(first, first + 100)), "plain")])
            await opened.until(lambda: view.max_scroll_y >= height + 150)

        def top() -> str:
            return next((line.strip() for line in opened.screen.split("\n") if "word" in line), "")

        await grow(0)
        await opened.until(lambda: view.is_vertical_scroll_end and "word99" in opened.screen)
        await opened.until(lambda: "word99" not in opened.screen, by="pageup")
        await opened.pilot.pause()
        read = top()
        await grow(100)
        for columns in (40, 80):
            await opened.pilot.resize_terminal(columns, 24)
            await opened.until(lambda columns=columns: abs(view.size.width - columns) <= 2)
            await opened.until(lambda: top() == read)


async def test_an_edited_prompt_is_followed_at_another_width_too(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as opened:
        view = opened.app.chat.transcript
        for _ in range(2):
            await opened.ask("echo " + "word " * 130)
        await opened.until(lambda: not view.is_vertical_scroll_end, by=("tab", "up", "up"))
        await opened.until(lambda: opened.app.state.editing is not None, by=("down", "e"))
        await opened.type("hold")
        await opened.until(lambda: bool(opened.growing) and view.is_vertical_scroll_end)
        await opened.pilot.pause()
        await opened.pilot.resize_terminal(40, 12)
        await opened.until(lambda: abs(view.size.width - 40) <= 2)
        await opened.pilot.pause()
        await opened.pilot.pause()
        assert view.is_vertical_scroll_end


async def test_a_prompt_of_several_lines_is_followed_from_further_up_too(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    resized, sizes = Transcript.on_resize, list[Size]()

    def then_followed(view: Transcript) -> None:
        """The prompt takes one line again, and its message is shown before the next layout."""
        resized(view)
        view.follow()
        sizes.append(view.size)

    async with open_chat(size=(40, 12)) as opened:
        view = opened.app.chat.transcript
        opened.app.state.resume(*long_chat(turns=BATCH))
        await opened.until(lambda: view.max_scroll_y > 0 and view.is_vertical_scroll_end)
        await opened.until(lambda: not view.is_vertical_scroll_end, by="pageup")
        whole = view.size
        opened.area.load_text("three\nlines\nlong")
        await opened.until(lambda: view.size.height < whole.height)
        await opened.pilot.pause()
        assert not view.is_vertical_scroll_end
        monkeypatch.setattr(Transcript, "on_resize", then_followed)
        opened.area.load_text("")
        await opened.until(lambda: whole in sizes)
        await opened.pilot.pause()
        await opened.pilot.pause()
        assert view.is_vertical_scroll_end


async def test_a_short_chat_opened_at_a_message_is_in_view_and_stays_there(open_chat: OpenChat) -> None:
    async with open_chat(size=(60, 24)) as opened:
        view = opened.app.chat.transcript
        opened.app.state.resume(*long_chat(turns=BATCH))
        await opened.until(lambda: view.max_scroll_y > 0)
        opened.app.state.resume(*long_chat(turns=2))
        view.go_to("p0")
        await opened.shows("question 0", "An answer to 1.")
        opened.app.state.clear()
        await opened.until(lambda: view.max_scroll_y == 0 and "question" not in opened.screen)
        await opened.stream()
        assert view.max_scroll_y == 0
        view.scroll_up(animate=False)
        await opened.until(lambda: view.max_scroll_y > 0)
        assert view.is_vertical_scroll_end, "a short answer is followed after the wheel was turned"
        opened.app.state.clear()
        opened.app.state.resume(*long_chat(turns=2))
        view.go_to("p1", ["question"])  # before the messages are laid out
        await opened.shows("question 0", "question 1", "An answer to 1.")
        view.focus()
        await opened.press("up")
        view.scroll_up(animate=False)
        await opened.stream()
        await opened.until(lambda: view.max_scroll_y > 0)
        assert view.is_vertical_scroll_end, "where all was in view, the end is still followed"
        await opened.press("pagedown")
        height = view.max_scroll_y
        await opened.until(lambda: view.max_scroll_y > height + 5)
        assert view.is_vertical_scroll_end, "nor does it end by a page down there"
        x, y = opened.area.region.offset
        opened.app.post_message(MouseScrollUp(None, x, y, 0, 0, 0, False, False, False))
        await opened.until(lambda: not view.is_vertical_scroll_end)
        top, height = view.scroll_y, view.max_scroll_y
        await opened.until(lambda: view.max_scroll_y > height + 5)
        assert view.scroll_y == top, "the wheel over the prompt scrolls too, and ends the following"


async def test_the_welcome_is_in_the_middle_whenever_the_chat_is_empty(open_chat: OpenChat) -> None:
    def is_centred() -> bool:
        welcome, room = opened.app.chat.transcript.welcome.region, opened.app.chat.transcript.content_region
        above, below = welcome.y - room.y, room.bottom - welcome.bottom
        return welcome.height > 0 and abs(above - below) <= 1

    async with open_chat(size=(200, 60)) as opened:
        await opened.until(is_centred)
        await opened.pilot.resize_terminal(80, 24)
        await opened.until(lambda: opened.app.chat.transcript.size.width < 100 and is_centred())
        await opened.until(is_centred, by="ctrl+end")
        await opened.ask("hello")
        transcript = opened.app.chat.transcript
        assert opened.answers[-1].region.bottom >= transcript.content_region.bottom - 1, "it is followed"
        await opened.until(is_centred, by="ctrl+n")


async def test_the_chosen_message_stays_in_view_in_a_smaller_terminal_unless_it_was_scrolled_away(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(80, 24)) as opened:
        view = opened.app.chat.transcript
        for number in range(6):
            await opened.ask(f"question {number} " * 8)

        def is_whole() -> bool:
            chosen = view.widgets[view.selected or ""]
            return view.region.contains_region(chosen.region)

        await opened.until(
            lambda: view.selected is not None and is_whole(), by=("tab", "home", *["down"] * 4)
        )
        for size in ((80, 12), (40, 12), (80, 24), (40, 24)):
            await opened.pilot.resize_terminal(*size)
            await opened.pilot.pause()
            await opened.until(is_whole)
        view.scroll_end(animate=False)
        await opened.until(lambda: "question 5" in opened.screen)
        for columns in (60, 40):
            await opened.pilot.resize_terminal(columns, 12)
            await opened.pilot.pause(0.1)
            await opened.shows("question 5")


async def test_a_message_chosen_above_a_growing_answer_stays_in_view(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as opened:
        view = opened.app.chat.transcript
        await opened.ask("echo " + "word " * 400)
        await opened.stream()
        height = view.max_scroll_y
        await opened.shows("▌ slow", by=("tab", "up"))
        await opened.until(lambda: view.max_scroll_y > height + 30)
        await opened.shows("▌ slow")
