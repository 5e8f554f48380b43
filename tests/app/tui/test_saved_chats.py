"""Chats that are saved by themselves: resumed, found, put in order, kept through trouble."""

import asyncio
import itertools
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from app.chat.saved_chats import SavedChats
from app.history.records import AnswerFacts, Attachment, Chat, ChatMessage
from app.history.rows import ChatRow
from app.history.store import History
from app.tui.screens.sessions import SessionsScreen
from app.tui.widgets.answer import Answer
from app.tui.widgets.status_line import StatusLine
from app.tui.widgets.user_message import UserMessage
from mlx_spec.types import Options
from tests.app.history.some_chat import answer, chat, prompt
from tests.app.tui.chat_driver import Chat as OpenedChat
from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.test_chat import TEXT
from tests.app.tui.test_transcript import long_chat


def saved(home: Path) -> list[tuple[Chat, list[ChatMessage]]]:
    history = History.open(home / "history.db")
    try:
        return [(row.chat, history.messages(row.chat)) for row in history.chats()]
    finally:
        history.close()


def put(home: Path, *chats: tuple[Chat, list[ChatMessage]]) -> None:
    history = History.open(home / "history.db")
    for one, messages in chats:
        history.save([one], [replace(message, chat=one.id) for message in messages])
    history.close()


def texts(opened: OpenedChat) -> list[str]:
    shown = opened.app.chat.query("UserMessage, Answer").results()
    return [widget.text for widget in shown if isinstance(widget, UserMessage | Answer)]


async def test_a_chat_is_saved_by_itself_and_resumed_in_the_next_run(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    async with open_chat() as opened:
        await opened.type("/temperature 0.5")
        await opened.type("/system Be brief.")
        stats = (await opened.ask("hello")).stats
    ((one, messages),) = saved(tmp_path)
    assert (one.title, one.system, one.options.temperature) == ("hello", "Be brief.", 0.5)
    assert [(m.role, m.text) for m in messages] == [("user", "hello"), ("assistant", TEXT)]
    facts = messages[1].facts
    assert facts is not None and facts.stats is not None
    assert (facts.pair, facts.finish, facts.stats.draft_n) == ("scripted", "stop", 3)
    assert len(facts.rounds) == 3 and facts.options.temperature == 0.5
    async with open_chat() as opened:
        assert texts(opened) == []
        await opened.until(lambda: any("F7 goes on with 'hello'" in notice for notice in opened.notices))
        await opened.pilot.press("f7")
        await opened.until(lambda: texts(opened) == ["hello", TEXT])
        assert opened.answers[0].stats == stats
        assert opened.app.chat.settings.options.temperature == 0.5
        await opened.ask("echo")
        assert opened.answers[-1].text.startswith(f"Be brief.|hello|{TEXT}|echo|")
    assert len(saved(tmp_path)) == 1


async def test_an_answer_is_on_disk_while_it_grows(open_chat: OpenChat, tmp_path: Path) -> None:
    async with open_chat() as opened:
        await opened.type("slow")
        await opened.until(lambda: bool(saved(tmp_path) and len(saved(tmp_path)[0][1]) == 2))
        message = saved(tmp_path)[0][1][1]
        assert message.text.startswith("The target") and message.facts is not None
        assert message.facts.finish is None


async def test_leaving_in_the_middle_of_an_answer_keeps_every_word_that_was_shown(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tui.screens.chat.HAND_OVER_SECONDS", 3600)
    async with open_chat() as opened:
        await opened.type("slow")
        await opened.until(lambda: bool(opened.app.chat.running and opened.app.chat.running.text))
        await opened.pilot.press("ctrl+q")
    assert opened.app.chat.running is not None
    assert saved(tmp_path)[0][1][1].text == opened.app.chat.running.text


async def one_waits(opened: OpenedChat) -> None:
    """Two prompts are sent: one is being answered, the other waits."""
    await opened.type("slow")
    await opened.type("waits")
    await opened.until(lambda: len(opened.app.chat.answering.queued) == 1)


async def test_prompts_that_wait_or_are_half_written_when_the_program_ends_are_behind_up_in_the_next_run(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as opened:
        await one_waits(opened)
        opened.app.chat.prompt.fill("half a th")
        await opened.pilot.press("ctrl+q")
    async with open_chat() as opened:
        area = opened.app.chat.prompt.area
        await opened.until(lambda: opened.app.chat.prompt.past._place > 0)
        for text in ("half a th", "waits", "slow"):
            await opened.pilot.press("up")
            await opened.until(lambda text=text: area.text == text)


async def test_prompts_that_wait_when_another_chat_comes_into_view_are_told_of_and_behind_up(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as opened:
        await one_waits(opened)
        await opened.pilot.press("ctrl+n")
        await opened.until(lambda: any("A prompt that waited was not sent." in one for one in opened.notices))
        await opened.pilot.press("up")
        assert opened.app.chat.prompt.area.text == "waits"
    async with open_chat() as opened:
        await opened.until(lambda: opened.app.chat.prompt.past._place == 2)


async def test_a_clock_that_jumps_loses_and_reorders_nothing(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    year = 365 * 86400.0
    times = itertools.cycle([1.8e9, 1.8e9 + 30 * year, 0.0, 1.8e9 - year])
    monkeypatch.setattr("time.time", lambda: next(times))
    async with open_chat() as opened:
        for number in range(3):
            assert (await opened.ask(f"hello {number}")).text == TEXT
        await opened.type("/new")
        assert (await opened.ask("later")).text == TEXT
    monkeypatch.setattr("time.time", lambda: 1.8e9)
    async with open_chat() as opened:
        await opened.pilot.press("f7")
        await opened.until(lambda: texts(opened) == ["later", TEXT])
    kept = saved(tmp_path)
    assert [one.title for one, _ in kept] == ["later", "hello 0"]
    assert [message.text for message in kept[1][1]][::2] == ["hello 0", "hello 1", "hello 2"]


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
        await opened.pilot.press("f6")
        await opened.until(lambda: isinstance(opened.app.screen, SessionsScreen))
        screen = opened.app.screen
        assert isinstance(screen, SessionsScreen)
        await opened.until(lambda: [row.chat.title for row in screen.rows] == ["New", "Old \x1b[31m"])
        await opened.until(lambda: "␛[31m" in opened.screen)
        await opened.pilot.press("a")
        await opened.until(lambda: len(screen.rows) == 1)
        await opened.pilot.press("v")
        await opened.until(lambda: [row.chat.id for row in screen.rows] == ["c2"])
        await opened.pilot.press("a", "v")
        await opened.until(lambda: len(screen.rows) == 2)
        await opened.pilot.press("d")
        await opened.until(lambda: [row.chat.id for row in screen.rows] == ["c1"])
        await opened.pilot.press("u")
        await opened.until(lambda: len(screen.rows) == 2)
        await opened.pilot.press("slash", *"needle")
        await opened.until(lambda: [row.excerpt for row in screen.rows] == ["about needles"])
        await opened.pilot.press("enter", "r")
        await opened.pilot.press("ctrl+u", *"X", "enter")
        await opened.until(lambda: screen.rows[0].chat.title == "X")
        await opened.pilot.press("J")
        await opened.until(lambda: (tmp_path / "x.json").exists())
        await opened.pilot.press("enter")
        await opened.until(lambda: opened.app.screen is opened.app.chat)
        await opened.until(lambda: len(texts(opened)) == 2)
        assert opened.app.chat.conversation.chat.id == "c1"
    exported = json.loads((tmp_path / "x.json").read_text())
    assert [m["text"] for m in exported["chats"][0]["messages"]][0] == "about needles"


async def test_the_delete_key_several_times_in_one_read_deletes_one_chat_once(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    chats = [(chat(f"c{n}", f"Chat {n}", n), [prompt("p", "hi")]) for n in range(1, 4)]
    put(tmp_path, *chats)
    async with open_chat(size=(80, 24)) as opened:
        await opened.pilot.press("f6")
        screen = opened.app.screen
        assert isinstance(screen, SessionsScreen)
        await opened.until(lambda: len(screen.rows) == 3)
        opened.press_at_once("d", "d", "d")
        await opened.until(lambda: len(screen.rows) == 2)
        await opened.pilot.press("u")
        await opened.until(lambda: len(screen.rows) == 3)
        await opened.pilot.press("u")
        line = screen.query_one("#sessions-line", Static)
        await opened.until(lambda: "Nothing was deleted" in str(line.content))


async def test_letters_right_behind_the_search_key_are_searched_for(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    put(
        tmp_path, (chat("c1", "Old", 1.0), [prompt("p", "hi")]), (chat("c2", "New", 2.0), [prompt("p", "ho")])
    )
    async with open_chat(size=(80, 24)) as opened:
        await opened.pilot.press("f6")
        screen = opened.app.screen
        assert isinstance(screen, SessionsScreen)
        await opened.until(lambda: len(screen.rows) == 2)
        opened.press_at_once("slash", "o", "l", "slash", "d")
        await opened.until(lambda: screen.query_one(Input).value == "ol/d")
        assert opened.app.screen is screen


async def test_the_list_counts_nothing_before_it_has_read_the_chats(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, (chat("c1", "Old", 10.0, leaf="p1"), [prompt("p1", "one")]))
    read = asyncio.Event()
    rows = SavedChats.rows

    async def late(self: SavedChats, text: str, *, archived: bool) -> list[ChatRow]:
        await read.wait()
        return await rows(self, text, archived=archived)

    monkeypatch.setattr(SavedChats, "rows", late)
    async with open_chat() as opened:
        opened.app.action_sessions()
        await opened.until(
            lambda: isinstance(opened.app.screen, SessionsScreen) and opened.app.screen.is_mounted
        )
        for size in ((80, 24), (100, 30)):
            await opened.pilot.resize_terminal(*size)
            await opened.pilot.pause()
            shown = opened.app.export_screenshot(simplify=True)
            assert "0&#160;chats" not in shown and "No&#160;chats" not in shown
        read.set()
        await opened.until(lambda: "1&#160;chat" in opened.app.export_screenshot(simplify=True))


async def test_md_is_another_word_for_markdown(open_chat: OpenChat, tmp_path: Path) -> None:
    async with open_chat() as opened:
        await opened.ask("one")
        await opened.type(f"/export md {tmp_path / 'one.txt'}")
        await opened.until(lambda: (tmp_path / "one.txt").exists())
        assert (tmp_path / "one.txt").read_text().startswith("# one")


async def test_an_export_into_no_folder_and_the_list_of_presets_say_what_to_do(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    async with open_chat() as opened:
        await opened.ask("hello")
        await opened.type(f"/export {tmp_path}/gone/x.md")
        await opened.until(lambda: f"there is no folder {tmp_path}/gone." in opened.notices[-1])
        await opened.type("/preset save brief")
        await opened.type("/preset")
        await opened.until(lambda: "brief. /preset NAME uses one" in opened.notices[-1])


async def test_esc_empties_a_search_first_and_what_was_said_goes_with_the_next_thing_done(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    put(tmp_path, (chat("c1", "one"), [prompt("p1", "needle")]), (chat("c2", "two"), [prompt("p1", "hay")]))
    async with open_chat(size=(100, 30)) as opened:
        await opened.pilot.press("f6")
        await opened.until(lambda: isinstance(opened.app.screen, SessionsScreen))
        screen = opened.app.screen
        assert isinstance(screen, SessionsScreen)
        await opened.until(lambda: len(screen.rows) == 2)
        said = screen.query_one("#sessions-line", Static)
        await opened.pilot.press("d")
        await opened.until(lambda: "Deleted" in str(said.content) and len(screen.rows) == 1)
        await opened.pilot.press("u")
        await opened.until(lambda: "is back" in str(said.content) and len(screen.rows) == 2)
        await opened.pilot.press("/", *"needle", "enter")
        await opened.until(lambda: len(screen.rows) == 1)
        assert str(said.content) == ""
        await opened.pilot.press("escape")
        await opened.until(lambda: len(screen.rows) == 2)
        assert opened.app.screen is screen
        await opened.pilot.press("escape")
        await opened.until(lambda: opened.app.screen is opened.app.chat)


async def test_of_a_chat_whose_answer_was_never_counted_the_context_is_guessed_until_it_is(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    begun = replace(answer("a1", "p1", "Begun. "), facts=AnswerFacts("scripted", Options(), None))
    asked = replace(prompt("p1", "hello"), attachments=(Attachment("notes", "n" * 400),))
    put(tmp_path, (chat("c1", "T", leaf="a1"), [asked, begun]))
    async with open_chat() as opened:
        line = opened.app.chat.query_one(StatusLine)
        await opened.until(lambda: "context 0" in str(line.content))
        await opened.type("/resume last")
        await opened.until(lambda: "context ~103/4096 (3%)" in str(line.content))
        await opened.ask("more")
        await opened.until(lambda: "context 16/4096" in str(line.content))


async def test_deleting_the_chat_in_view_begins_a_new_one_and_undo_brings_it_back(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    async with open_chat() as opened:
        await opened.ask("hello")
        await opened.type("/delete")
        await opened.until(lambda: any("Deleted" in notice for notice in opened.notices))
        assert texts(opened) == [] and saved(tmp_path) == []
        await opened.type("/undo")
        await opened.until(lambda: texts(opened) == ["hello", TEXT] and len(saved(tmp_path)) == 1)
        await opened.until(lambda: "'hello' is back." in opened.notices)


async def test_a_preset_brings_instructions_and_sampling_back(open_chat: OpenChat) -> None:
    async with open_chat() as opened:
        for command in ("/system Be terse.", "/temperature 0.3", "/preset save terse", "/system none"):
            await opened.type(command)
        await opened.type("/temperature 0")
        await opened.type("/preset terse")
        await opened.until(lambda: opened.app.chat.conversation.system == "Be terse.")
        assert opened.app.chat.settings.options.temperature == 0.3
        await opened.type("/preset none-such")
        await opened.until(lambda: any("no preset 'none-such'" in notice for notice in opened.notices))


async def test_a_damaged_history_is_told_and_the_chat_goes_on_in_a_new_one(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    (tmp_path / "history.db").write_bytes(b"no database at all" * 500)
    async with open_chat() as opened:
        await opened.until(lambda: any("damaged" in notice for notice in opened.notices))
        await opened.ask("hello")
    assert len(saved(tmp_path)) == 1
    assert len(list(tmp_path.glob("history-damaged-*.db"))) == 1


async def test_a_folder_that_cannot_be_written_is_told_and_the_chat_goes_on_in_memory(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    (tmp_path / "history.db").mkdir()
    async with open_chat() as opened:
        await opened.until(lambda: any("cannot be saved now" in notice for notice in opened.notices))
        await opened.ask("hello")
        assert (await opened.ask("again")).text == TEXT
        (told,) = opened.notices
        assert ".." not in told and told.endswith("is saved later.")
    assert opened.app.unsaved == 4


async def open_hit(opened: OpenedChat, words: str) -> None:
    """Search all chats and open the first one found."""
    await opened.pilot.press("f6")
    await opened.until(lambda: isinstance(opened.app.screen, SessionsScreen) and opened.app.screen.is_mounted)
    screen = opened.app.screen
    assert isinstance(screen, SessionsScreen)
    await opened.pilot.press("slash", *words)
    await opened.until(lambda: len(screen.rows) == 1 and screen.rows[0].hit is not None)
    await opened.pilot.press("enter", "enter")
    await opened.until(lambda: opened.app.screen is opened.app.chat)


@pytest.mark.parametrize("size", [(100, 30), (40, 20)])
async def test_a_hit_opens_the_chat_at_the_message_that_was_found(
    open_chat: OpenChat, tmp_path: Path, size: tuple[int, int]
) -> None:
    one, messages = long_chat()
    found = replace(messages[41], text="\n\n".join(["hay"] * 100 + ["the Needle is here"] + ["hay"] * 100))
    put(tmp_path, (one, [*messages[:41], found, *messages[42:]]))
    async with open_chat(size=size) as opened:
        await open_hit(opened, "needle")
        view = opened.app.chat.transcript
        await opened.until(lambda: bool(opened.app.chat.query(".-selected")))
        (chosen,) = opened.app.chat.query(".-selected")
        assert isinstance(chosen, Answer) and chosen.text == found.text
        await opened.until(lambda: "Needle" in opened.screen)
        await opened.pilot.pause(0.3)
        assert "Needle" in opened.screen, "nothing scrolls it away again"
        await opened.pilot.press("down")
        assert view.selected is not None and view.selected.message_id == messages[42].id
        await opened.pilot.press("escape")
        await opened.until(lambda: view.is_vertical_scroll_end)
        assert opened.app.focused is opened.app.chat.prompt.area


async def test_a_hit_on_another_branch_brings_that_branch_into_view(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    put(
        tmp_path,
        (
            chat("c1", "T", leaf="a2"),
            [prompt("p1", "one"), answer("a1", "p1", "about needles"), answer("a2", "p1", "about hay")],
        ),
    )
    async with open_chat() as opened:
        await opened.pilot.press("f7")
        await opened.until(lambda: texts(opened) == ["one", "about hay"])
        await open_hit(opened, "needles")
        await opened.until(lambda: texts(opened) == ["one", "about needles"])
        await opened.until(lambda: bool(opened.app.chat.query(".-selected")))
        assert opened.app.chat.query_one(".-selected", Answer).text == "about needles"


async def test_a_hit_on_another_branch_waits_for_the_answer_that_is_being_written(
    open_chat: OpenChat,
) -> None:
    async with open_chat(options=Options(max_tokens=100_000)) as opened:
        await opened.ask("hello")
        await opened.pilot.press("tab", "up", "e")
        await opened.until(
            lambda: opened.app.chat.editing is not None and bool(opened.app.chat.prompt.area.text)
        )
        await opened.type("slow")
        await opened.until(lambda: bool(opened.app.chat.running and opened.app.chat.running.text))
        running = opened.app.chat.running
        assert texts(opened) == ["slow"]
        await open_hit(opened, "hello")
        await opened.until(lambda: any("An answer is being written" in notice for notice in opened.notices))
        assert opened.app.chat.running is running and texts(opened) == ["slow"]


async def test_a_list_that_is_closed_before_its_chats_are_there_is_left_alone(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, rows = asyncio.Event(), SavedChats.rows

    async def late(self: SavedChats, text: str, *, archived: bool) -> list[ChatRow]:
        found = await rows(self, text, archived=archived)
        asked.set()
        with suppress(asyncio.CancelledError):  # as where the end of the work and of the screen cross
            await asyncio.Event().wait()
        return found

    monkeypatch.setattr(SavedChats, "rows", late)
    async with open_chat() as chat:
        await chat.ask("hello")
        await chat.type("/sessions")
        await asked.wait()
        screen = chat.app.screen
        chat.app.return_to_chat()
        await chat.until(lambda: not screen.is_attached)
        await chat.ask("again")
        assert chat.prompts == ["hello", "again"]
