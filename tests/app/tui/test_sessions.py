"""The list of saved chats: search, rename, archive, delete."""

import asyncio
import json
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList, Static

from app.chat.saved_chats import SavedChats
from app.history.records import ChatRow
from app.shell.number_text import when_text
from app.tui.screens.sessions import SessionsScreen
from tests.app.history.some_chat import answer, chat, prompt
from tests.app.tui.chat_driver import Chat as OpenedChat
from tests.app.tui.chat_driver import OpenChat, keys_shown
from tests.app.tui.pairs_driver import open_pairs
from tests.app.tui.test_saved_chats import put, texts


async def open_list(opened: OpenedChat) -> SessionsScreen:
    return await opened.reached(SessionsScreen, by="f6")


def put_chat_with(folder: Path, pair: str) -> None:
    """Save a chat whose answer is by the pair of this name."""
    said = answer("a1", "p1")
    assert said.facts is not None
    said = replace(said, facts=replace(said.facts, pair=pair))
    put(folder, (chat("c1", "One", 10.0, leaf="a1"), [prompt("p1", "one"), said]))


async def test_a_pair_with_a_wide_name_cuts_no_time_off(open_chat: OpenChat, tmp_path: Path) -> None:
    put_chat_with(tmp_path, "模型目录测试很长的名字")
    async with open_chat(size=(80, 24)) as opened:
        await open_list(opened)
        await opened.shows("模型目录测试很 …", when_text(10.0, time.time()))


async def test_a_wide_list_shows_a_long_name_of_a_pair_whole_and_its_columns_near_the_titles(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    put_chat_with(tmp_path, "mistral-small-24b-2501-4bit")
    async with open_chat(size=(200, 60)) as opened:
        await open_list(opened)
        await opened.shows("mistral-small-24b-2501-4bit")
        (row,) = (line for line in opened.screen.splitlines() if "mistral-small" in line)
        assert row.index("mistral-small") < 100


@pytest.mark.parametrize(("size", "lines"), [((100, 30), 1), ((40, 12), 3)])
async def test_a_notice_does_not_cover_what_the_list_says(
    open_chat: OpenChat, size: tuple[int, int], lines: int
) -> None:
    async with open_chat(size=size, toasts=True) as opened:
        screen = await open_list(opened)
        opened.app.chat.view.note("Chats cannot be saved now. " * 4, "error")
        screen.show_message("it cannot be renamed " * 4)
        await opened.until(lambda: (opened.screen.count("Chats"), opened.screen.count("renamed")) == (4, 4))
        assert screen.query_one("#message").size.height == lines


async def test_down_leads_from_the_words_of_a_search_to_what_they_find(open_chat: OpenChat) -> None:
    async with open_chat(asked="hello") as opened:
        await open_list(opened)
        opened.press_at_once("slash", *"hel", "down", "enter")
        await opened.back_in_chat()
        pairs = await open_pairs(opened, "builtin")
        await opened.until(lambda: isinstance(pairs.focused, Input), by=("slash", *"fits"))
        await opened.until(lambda: isinstance(pairs.focused, OptionList), by="down")


async def test_what_was_said_of_a_chat_in_one_list_is_gone_from_the_other(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    put_chat_with(tmp_path, "scripted")
    async with open_chat(size=(80, 24)) as opened:
        await open_list(opened)
        await opened.shows("'One' is in the archive", by="a")
        await opened.until(lambda: "in the archive" not in opened.screen, by="v")


async def test_the_list_finds_resumes_renames_archives_deletes_and_undoes(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(
        tmp_path,
        (chat("c1", "Old \x1b[31m", 10.0, leaf="a1"), [prompt("p1", "about needles"), answer("a1", "p1")]),
        (chat("c2", "New", 20.0, leaf="p1"), [prompt("p1", "about hay")]),
    )
    async with open_chat(size=(80, 24)) as opened:
        screen = await open_list(opened)
        line = screen.query_one("#message", Static)
        await opened.until(lambda: [row.chat.title for row in screen.rows] == ["New", "Old \x1b[31m"])
        await opened.shows("␛[31m")
        await opened.until(lambda: len(screen.rows) == 1, by="a")
        await opened.until(lambda: [row.chat.id for row in screen.rows] == ["c2"], by="v")
        await opened.shows("No archived chats.", by="a")
        await opened.until(lambda: len(screen.rows) == 2, by="v")
        await opened.until(lambda: [row.chat.id for row in screen.rows] == ["c1"], by="d")
        assert "Deleted" in str(line.content)
        await opened.until(lambda: len(screen.rows) == 2 and "is back" in str(line.content), by="u")
        await opened.press("slash", *"needle")
        await opened.until(lambda: [row.excerpt for row in screen.rows] == ["about needles"])
        assert str(line.content) == ""
        await opened.until(lambda: "Rename" in keys_shown(opened), by=("enter", "v"))
        assert "Archived" not in keys_shown(opened) and not screen.archived, "a search finds both"
        await opened.press("r")
        await opened.until(lambda: screen.rows[0].chat.title == "X", by=("ctrl+u", *"X", "enter"))
        await opened.until(lambda: (tmp_path / "x.json").exists(), by="J")
        await opened.until(lambda: len(screen.rows) == 2, by="escape")
        assert opened.app.screen is screen, "Esc empties the search first"
        await opened.back_in_chat(by=("down", "enter"))
        await opened.until(lambda: len(texts(opened)) == 2)
        assert opened.app.state.conversation.chat.id == "c1"
    exported = json.loads((tmp_path / "x.json").read_text())
    assert [m["text"] for m in exported["chats"][0]["messages"]][0] == "about needles"


async def test_the_list_starts_on_the_chat_in_view_and_a_search_on_what_it_finds_best(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    put(tmp_path, *((chat(f"c{n}", f"Title {n}", 10.0 * n), [prompt("p", "hi")]) for n in range(1, 4)))
    async with open_chat() as opened:
        await opened.until(lambda: opened.prompts == ["hi"], by="/resume c2")
        screen = await open_list(opened)
        await opened.until(lambda: screen.chosen is not None)
        assert screen.chosen is not None and screen.chosen.chat.id == "c2"
        await opened.press("escape")
        await opened.type("/sessions title")
        found = await opened.reached(SessionsScreen)
        await opened.until(lambda: found.chosen is not None)
        assert found.chosen is not None and found.chosen.chat.id == "c3"


async def test_the_list_is_sorted_by_the_time_it_shows_headings_take_no_key_and_d_in_one_read_deletes_once(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, day = datetime(2026, 11, 23, 12, 0), 86400.0
    ages = {"old": 700.0, "month": 20.0, "today": 0.1, "week": 3.0, "yesterday": 1.0}
    times = {name: now.timestamp() - age * day for name, age in ages.items()}
    put(tmp_path, *((chat(name, name, time), [prompt("p", "hi")]) for name, time in times.items()))
    async with open_chat(size=(80, 24)) as opened:
        screen = await open_list(opened)
        monkeypatch.setattr("app.tui.screens.sessions.now", now.timestamp)
        screen.load()
        await opened.until(lambda: [r.chat.id for r in screen.rows] == [*sorted(ages, key=lambda n: ages[n])])
        await opened.shows("Today", "Yesterday", "Last 7 days", "Last 30 days", "2024")
        lines = [line.strip("│ ") for line in opened.screen.splitlines()]
        (week,) = (line for line in lines if line.startswith("week"))
        assert week.split() == ["week", "1", "Fri", "12:00"]
        seen = []
        for _ in ages:
            assert screen.chosen is not None
            seen.append(screen.chosen.chat.id)
            await opened.press("down")
        assert seen == ["today", "yesterday", "week", "month", "old"]
        deleted = screen.chosen
        opened.press_at_once("d", "d", "d")
        await opened.until(lambda: len(screen.rows) == 4)
        await opened.press("up")
        await opened.until(lambda: len(screen.rows) == 5 and screen.chosen == deleted, by="u")
        await opened.shows("No chat was deleted", by="u")
        opened.press_at_once("slash", "o", "l", "slash", "d")
        await opened.until(lambda: screen.query_one(Input).value == "ol/d")
        assert opened.app.screen is screen


async def test_a_chat_deleted_as_the_list_is_left_comes_back_with_undo(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    put(tmp_path, (chat("c1", "One", 10.0, leaf="p1"), [prompt("p1", "one")]))
    goes_on = threading.Event()
    async with open_chat() as opened:
        screen = await open_list(opened)
        await opened.until(lambda: bool(screen.rows))
        opened.app.state.history.ask(lambda _: goes_on.wait(60))
        await opened.press("d")
        await opened.back_in_chat(by="escape")
        goes_on.set()
        await opened.noticed("Deleted 'One'.")
        await opened.noticed("'One' is back.", by="/undo")


async def test_a_folder_for_downloads_that_is_made_meanwhile_gets_the_exports(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "Downloads"
    monkeypatch.setattr("app.settings.config.user_downloads_path", lambda: folder)
    async with open_chat(asked="hello") as opened:
        folder.mkdir()
        await opened.until((folder / "hello.md").exists, by="/export")


async def test_a_list_counts_nothing_before_it_has_read_the_chats_and_can_be_closed_before(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, (chat("c1", "Old", 10.0, leaf="p1"), [prompt("p1", "one")]))
    begun, read, rows = asyncio.Event(), asyncio.Event(), SavedChats.rows

    async def late(self: SavedChats, text: str, *, archived: bool) -> list[ChatRow]:
        found = await rows(self, text, archived=archived)
        begun.set()
        with suppress(asyncio.CancelledError):  # as if the work ended just when the screen closed
            await read.wait()
        return found

    monkeypatch.setattr(SavedChats, "rows", late)
    async with open_chat() as opened:
        closed = await open_list(opened)
        await begun.wait()
        opened.app.runner.return_to_chat()
        await opened.until(lambda: not closed.is_attached)
        await opened.ask("hello")
        await open_list(opened)
        for size in ((80, 24), (100, 30)):
            await opened.pilot.resize_terminal(*size)
            await opened.pilot.pause()
            assert "0 chats" not in opened.screen and "No chats" not in opened.screen
        read.set()
        await opened.shows("2 chats")


async def test_an_end_amid_reading_is_quiet(open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, lists = SavedChats.rows, list[SessionsScreen]()

    async def late(self: SavedChats, text: str, *, archived: bool) -> list[ChatRow]:
        found = await rows(self, text, archived=archived)
        while not lists or lists[0].query(OptionList):
            await asyncio.sleep(0)
        return found

    monkeypatch.setattr(SavedChats, "rows", late)
    async with open_chat() as opened:
        lists.append(await open_list(opened))


async def test_letters_typed_right_after_enter_do_nothing_to_the_chat_that_it_opens(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    put(tmp_path, *((chat(name, name, 10.0), [prompt("p", "hi")]) for name in ("one", "two")))
    async with open_chat() as opened:
        screen = await open_list(opened)
        await opened.until(lambda: len(screen.rows) == 2)
        opened.press_at_once("enter", *"dog")
        await opened.back_in_chat()
        await opened.until(lambda: len(opened.prompts) == 1)
        screen = await open_list(opened)
        await opened.until(lambda: len(screen.rows) == 2)


async def test_a_chat_that_could_not_be_saved_is_not_said_to_be_renamed_archived_or_deleted(
    open_chat: OpenChat,
) -> None:
    async with open_chat(asked="hello") as opened:
        full = "PRAGMA max_page_count = 1"
        await opened.until(opened.app.history.ask(lambda history: history.connection.execute(full)).done)
        await opened.press("ctrl+n")
        opened.app.chat.prompt.fill("long " * 20_000)
        await opened.noticed("Chats cannot be saved now", by="enter")
        await opened.press("ctrl+n")
        screen = await open_list(opened)
        await opened.until(lambda: [row.chat.title[:5] for row in screen.rows] == ["long ", "hello"])
        for keys in (("r", "X", "enter"), ("a",), ("d",)):
            await opened.until(lambda: not screen.asks)
            screen.show_message("")
            await opened.shows("Nothing was done: this chat could not be saved yet.", by=keys)
        assert [row.chat.title[:5] for row in screen.rows] == ["long ", "hello"]
