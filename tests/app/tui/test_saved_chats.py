"""Chats are saved automatically: resumed, exported, kept after failures."""

import asyncio
import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from app.commands.chat import saved_chat
from app.history.records import Chat, ChatMessage
from app.history.store import History
from app.settings.options import AnswerOptions
from app.tui.screens.chat import ChatScreen
from app.tui.screens.question import QuestionScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.widgets.answer import Answer
from app.tui.widgets.message import UserMessage
from tests.app.history.some_chat import answer, chat, prompt
from tests.app.read_only import read_only
from tests.app.tui.chat_driver import Chat as OpenedChat
from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.test_chat import TEXT


def saved(home: Path) -> list[tuple[Chat, list[ChatMessage]]]:
    history = History(home / "history.db")
    try:
        return [(row.chat, history.messages(row.chat)) for row in history.chats()]
    finally:
        history.close()


def put(home: Path, *chats: tuple[Chat, list[ChatMessage]]) -> None:
    history = History(home / "history.db")
    for one, messages in chats:
        history.save([one], [replace(message, chat=one.id) for message in messages])
    history.close()


OLD = chat("c1", "Old", leaf="a1"), [prompt("p1", "one"), answer("a1", "p1")]


def texts(opened: OpenedChat) -> list[str]:
    shown = opened.app.chat.query("UserMessage, Answer").results()
    return [w.text for w in shown if isinstance(w, UserMessage | Answer) and w not in opened.growing]


async def test_of_archived_chats_the_last_is_said_to_be_archived(open_chat: OpenChat, tmp_path: Path) -> None:
    put(tmp_path, (replace(OLD[0], archived=True), OLD[1]))
    async with open_chat() as opened:
        await opened.type("/resume last")
        await opened.noticed("There is no other chat. v in it shows the archive.")


async def test_a_chat_saves_itself_and_resumes_in_the_next_run(open_chat: OpenChat, tmp_path: Path) -> None:
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
        await opened.shows("F7 goes on with 'hello'. F6 lists")
        await opened.until(lambda: texts(opened) == ["hello", TEXT], by="f7")
        assert opened.answers[0].stats == stats
        assert opened.app.state.settings.options.temperature == 0.5
        await opened.ask("echo")
        assert opened.answers[-1].text.startswith(f"Be brief.|hello|{TEXT}|echo|")
    assert len(saved(tmp_path)) == 1


async def test_a_resumed_chat_s_own_seed_is_still_shown_and_kept(open_chat: OpenChat) -> None:
    async with open_chat() as opened:
        await opened.type("/seed 7")
        await opened.ask("hello")
    async with open_chat() as opened:
        await opened.shows("seed 7", by="/resume last")
        await opened.until(lambda: texts(opened) == [], by="/new keep")
        assert opened.app.state.settings.options.seed == 7


@pytest.mark.parametrize("resume", [None, "last"])
async def test_the_last_chat_may_be_found_before_there_is_a_place_to_show_it(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resume: str | None
) -> None:
    put(tmp_path, OLD)

    async def take_long(self: ChatScreen) -> None:
        await asyncio.sleep(0.3)

    monkeypatch.setattr(ChatScreen, "on_compose", take_long, raising=False)
    async with open_chat(resume=resume) as opened:
        await opened.shows("█ one" if resume else "F7 goes on with 'Old'")


async def test_an_answer_is_on_disk_while_it_grows_not_read_from_there_and_leaving_keeps_every_word_shown(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat() as opened:
        await opened.type("slow")
        await opened.until(lambda: bool(saved(tmp_path) and len(saved(tmp_path)[0][1]) == 2))
        message = saved(tmp_path)[0][1][1]
        assert message.text.startswith("The target") and message.facts is not None
        assert message.facts.finish is None
        await opened.noticed("is open already", by=f"/resume {opened.app.state.conversation.chat.id}")
        monkeypatch.setattr("app.tui.screens.chat.HAND_OVER_SECONDS", 3600)
        await opened.exited(by="ctrl+q")
    assert opened.app.state.running is not None
    assert saved(tmp_path)[0][1][1].text == opened.app.state.running.log.text


async def test_a_clock_that_jumps_loses_and_reorders_nothing(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    year = 365 * 86400.0
    times = itertools.cycle([1.8e9, 1.8e9 + 30 * year, 0.0, 1.8e9 - year])
    monkeypatch.setattr("time.time", lambda: next(times))
    async with open_chat() as opened:
        for number in range(2):
            assert (await opened.ask(f"hello {number}")).text == TEXT
        await opened.type("/new")
        assert (await opened.ask("later")).text == TEXT
    kept = saved(tmp_path)
    assert saved_chat("last") == kept[0][0].id
    assert [one.title for one, _ in kept] == ["later", "hello 0"]
    assert [message.text for message in kept[1][1]][::2] == ["hello 0", "hello 1"]


async def test_an_export_has_a_new_file_in_its_folder_or_a_named_one_or_asks_before_it_replaces_one(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exports, here = tmp_path / "exports", tmp_path / "here"
    for folder in (exports, here):
        folder.mkdir()
    (tmp_path / "config.toml").write_text(f"exports = '{exports}'\n")
    monkeypatch.chdir(here)
    async with open_chat(asked="hello") as opened:
        for name in ("hello.md", "hello-2.md"):
            await opened.noticed(f"Written to {exports / name}.", by="/export")
        await opened.noticed(f"Written to {here / 'some.txt'}.", by="/export md some.txt")
        for command, name in ((f"{exports}/", "hello-3.md"), (f"json {exports}", "hello.json")):
            await opened.noticed(f"Written to {exports / name}.", by=f"/export {command}")
        await opened.type("/export gone/x.md")
        await opened.until(lambda: f"there is no folder {here}/gone." in opened.notices[-1])
        await opened.noticed("Markdown or JSON, not pdf. End the name in .md or .json", by="/export some.pdf")
        await opened.noticed(f"Written to {here / 'all.JSON'}.", by="/export all.JSON")
        await opened.noticed("Markdown or JSON, not html. End the name in .md or .json", by="/export html")
        await opened.noticed("/dev/null is no plain file", by="/export md /dev/null")
        await opened.noticed("Nothing was written: there is no folder new/.", by="/export md new/")
        await opened.noticed("Nothing was written: there is no folder other/.", by="/export other/")
        assert opened.app.chat.view.notices.kept[-1].kind == "mistake"
        await opened.until(lambda: "File name too long" in opened.notices[-1], by=f"/export {'x' * 300}.md")
        (here / "mine.md").write_text("mine")
        for key, outcome in (("n", "mine.md is as it was"), ("y", f"Written to {here / 'mine.md'}")):
            assert (here / "mine.md").read_text() == "mine"
            await opened.reached(QuestionScreen, by="/export mine.md")
            await opened.shows("mine.md is there. Replace it?")
            await opened.noticed(outcome, by=key)
        assert (here / "mine.md").read_text().startswith("# hello")
        await opened.type("/new")
        await opened.noticed("This chat is still empty. Send a prompt first.", by="/export")
    names = ["hello-2.md", "hello-3.md", "hello.json", "hello.md"]
    assert sorted(file.name for file in exports.iterdir()) == names
    assert sorted(file.name for file in here.iterdir()) == ["all.JSON", "mine.md", "some.txt"]
    assert (here / "all.JSON").read_text().startswith("{")
    assert (here / "some.txt").read_text().startswith("# hello")


async def test_a_new_chat_has_the_defaults_and_a_new_seed_unless_told_to_keep(open_chat: OpenChat) -> None:
    def seed() -> str:
        return opened.answers[-1].text.rpartition("|seed ")[2]

    async with open_chat(size=(80, 24), options=AnswerOptions(temperature=0.4, seed=5)) as opened:
        assert "temp " not in opened.screen, "a default says nothing"
        await opened.ask("echo")
        first = seed()
        await opened.type("/temperature 1.2")
        await opened.shows("temp 1.2 · instructions", by="/system Be brief.")
        await opened.until(lambda: texts(opened) == [], by="/new keep")
        assert "temp 1.2 · instructions" in opened.screen
        await opened.ask("echo")
        assert opened.answers[-1].text.startswith("Be brief.|echo") and (second := seed()) != first
        await opened.type("/draft off")
        await opened.press("ctrl+n")
        await opened.noticed(
            "in place of temperature 1.2, instructions, drafting off. /new keep keeps the settings"
        )
        await opened.until(lambda: "instructions" not in opened.screen.splitlines()[-2])
        assert opened.app.state.settings.options.temperature == 0.4
        await opened.ask("echo")
        assert opened.answers[-1].text.startswith("echo") and seed() not in (first, second)
        await opened.press("f7")
        await opened.shows("temp 1.2 · instructions")
        await opened.type("/seed 7")
        await opened.shows("temp 1.2 · seed 7 · instructions")
        await opened.type("/new kept")
        await opened.noticed("the value can only be keep, not 'kept'")
        await opened.press("f10")
        await opened.noticed(
            "place of temperature 1.2, seed 7, instructions, drafting off. This chat is temporary"
        )


async def test_a_damaged_history_is_told_and_a_new_one_begins(open_chat: OpenChat, tmp_path: Path) -> None:
    (tmp_path / "history.db").write_bytes(b"no database at all" * 500)
    async with open_chat() as opened:
        await opened.noticed("damaged")
        await opened.ask("hello")
    assert len(saved(tmp_path)) == 1
    assert len(list(tmp_path.glob("history-damaged-*.db"))) == 1


async def test_empty_chats_offer_f7_and_a_deleted_chat_returns(open_chat: OpenChat, tmp_path: Path) -> None:
    put(tmp_path, OLD)
    async with open_chat() as opened:
        await opened.shows("F7 goes on with 'Old'")
        await opened.ask("hello")
        await opened.shows("F7 goes on with 'hello'", by="ctrl+n")
        await opened.until(lambda: texts(opened) == ["hello", TEXT], by="f7")
        await opened.shows("F7 goes on with 'Old'", by="/delete")
        assert texts(opened) == [] and [one.id for one, _ in saved(tmp_path)] == ["c1"]
        await opened.noticed("'hello' is back.", by="/undo")
        await opened.until(lambda: texts(opened) == ["hello", TEXT] and len(saved(tmp_path)) == 2)
        await opened.shows("F7 goes on with 'Old'", by="/delete")
        await opened.until(lambda: texts(opened)[:1] == ["one"], by="f7")
        await opened.noticed("Deleted 'Old'", by="/delete")
        await opened.until(lambda: "F7 goes on" not in opened.screen)


async def test_a_read_only_folder_gives_chats_and_all_goes_on(open_chat: OpenChat, tmp_path: Path) -> None:
    put(tmp_path, OLD)
    with read_only(tmp_path):
        assert saved_chat("last") == "c1", "the command line finds it"
        async with open_chat() as opened:
            await opened.noticed("cannot be saved now")
            await opened.shows("F7 goes on with 'Old'", " · not saved · ")
            await opened.until(lambda: texts(opened)[:1] == ["one"], by="f7")
            assert (await opened.ask("hello")).text == TEXT
            await opened.type("/delete")
            await opened.noticed(f"The chat history {tmp_path / 'history.db'} cannot be used: ")
            assert texts(opened)[-1] == TEXT, "what was not deleted stays in view"
            await opened.press("ctrl+n")
            await opened.ask("another")
            await opened.until(lambda: texts(opened)[-2:] == ["hello", TEXT], by="f7")
            await opened.press("f6")
            screen = await opened.reached(SessionsScreen)
            await opened.until(lambda: [row.chat.title for row in screen.rows] == ["another", "Old"])
            await opened.until(lambda: texts(opened) == ["another", TEXT], by=("home", "enter"))
            opened.app.theme = "mlx-spec-light"
            await opened.noticed(f"be written to {tmp_path / 'config.toml'}: Read-only file system.")
        assert opened.app.unsaved == 4


async def test_the_list_names_the_pair_of_a_chat_that_could_not_be_saved(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    put(tmp_path, OLD)
    with read_only(tmp_path):
        async with open_chat(asked="hello") as opened:
            screen = await opened.reached(SessionsScreen, by="f6")
            await opened.until(lambda: [row.chat.title for row in screen.rows] == ["hello", "Old"])
            assert screen.rows[0].pair == opened.app.link.pair.name
