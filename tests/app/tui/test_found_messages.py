"""Messages found in saved chats, and opened there."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList

from app.chat.saved_chats import SavedChats
from app.history.records import ChatRow
from app.settings.options import AnswerOptions
from app.tui.screens.question import LineQuestionScreen
from app.tui.widgets.answer import Answer
from tests.app.history.some_chat import answer, chat, prompt
from tests.app.tui.chat_driver import Chat as OpenedChat
from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.test_saved_chats import put, texts
from tests.app.tui.test_sessions import open_list
from tests.app.tui.test_transcript import long_chat


async def open_hit(opened: OpenedChat, words: str) -> None:
    """Search all chats and open the first one found."""
    screen = await open_list(opened)
    await opened.press("slash")
    opened.press_at_once(*words)
    await opened.until(lambda: len(screen.rows) == 1 and screen.rows[0].hit is not None)
    await opened.back_in_chat(by=("enter", "enter"))


async def test_a_hit_opens_the_chat_there_also_by_keys_together(open_chat: OpenChat, tmp_path: Path) -> None:
    one, messages = long_chat(turns=16)
    found = replace(messages[5], text="\n\n".join(["hay"] * 15 + ["the Needle is here"] + ["hay"] * 15))
    put(tmp_path, (one, [*messages[:5], found, *messages[6:]]))
    async with open_chat(size=(40, 20)) as opened:
        await open_hit(opened, "needle")
        view = opened.app.chat.transcript
        await opened.until(lambda: bool(opened.app.chat.query(".-selected")))
        (chosen,) = opened.app.chat.query(".-selected")
        assert isinstance(chosen, Answer) and chosen.text == found.text
        await opened.shows("Needle")
        await opened.pilot.pause(0.3)
        assert "Needle" in opened.screen, "nothing scrolls it away again"
        await opened.press("down")
        assert view.selected == messages[6].id
        await opened.until(lambda: view.is_vertical_scroll_end, by="escape")
        assert opened.app.focused is opened.area
        await opened.pilot.resize_terminal(100, 30)
        await open_list(opened)
        opened.press_at_once("slash", *"needle", "enter", "enter")
        await opened.back_in_chat()
        await opened.shows("Needle")
        await opened.until(lambda: view.selected == found.id)


async def test_keys_behind_a_search_that_is_not_over_wait_for_what_it_finds(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, *((chat(f"c{n}", f"Chat {n}", n), [prompt("p", f"word{n}")]) for n in (1, 2)))
    found, rows = asyncio.Event(), SavedChats.rows

    async def late(self: SavedChats, text: str, *, archived: bool) -> list[ChatRow]:
        if text:
            await asyncio.wait_for(found.wait(), opened.patience / 2)
        return await rows(self, text, archived=archived)

    monkeypatch.setattr(SavedChats, "rows", late)
    async with open_chat() as opened:
        screen = await open_list(opened)
        await opened.until(lambda: len(screen.rows) == 2)
        await opened.press("slash")
        opened.press_at_once(*"word1")
        opened.press_at_once("enter")
        await opened.until(lambda: opened.app.focused is screen.query_one(OptionList))
        opened.press_at_once("r")
        await opened.pilot.pause()
        found.set()
        question = await opened.reached(LineQuestionScreen)
        assert question.query_one(Input).value == "Chat 1"
        await opened.back_in_chat(by=("escape", "enter"))
        await opened.shows("word1")


async def test_a_hit_on_a_branch_shows_it_or_waits_for_an_answer(open_chat: OpenChat, tmp_path: Path) -> None:
    branches = [prompt("p1", "one"), answer("a1", "p1", "about needles"), answer("a2", "p1", "about hay")]
    put(tmp_path, (chat("c1", "T", leaf="a2"), branches))
    async with open_chat(options=AnswerOptions(max_tokens=100_000)) as opened:
        await opened.until(lambda: texts(opened) == ["one", "about hay"], by="f7")
        await open_hit(opened, "needles")
        await opened.until(lambda: texts(opened) == ["one", "about needles"])
        await opened.until(lambda: bool(opened.app.chat.query(".-selected")))
        assert opened.app.chat.query_one(".-selected", Answer).text == "about needles"
        await opened.press("up", "e")
        await opened.until(lambda: opened.app.state.editing is not None and bool(opened.area.text))
        await opened.stream()
        running = opened.app.state.running
        assert texts(opened) == ["slow"]
        await open_hit(opened, "needles")
        await opened.noticed("An answer is being written")
        assert opened.app.state.running is running and texts(opened) == ["slow"]
