"""What is left: messages that are unsaved, a prompt without an answer, a history that is gone."""

from pathlib import Path

import pytest

from app.history.records import Attachment
from app.history.tree import MessageTree
from app.tui.screens.help import HelpScreen
from app.tui.screens.notices import NoticesScreen
from app.tui.screens.palette import Palette
from app.tui.screens.question import QuestionScreen
from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.test_chat import TEXT
from tests.app.tui.test_saved_chats import saved, texts


async def test_an_unwritable_folder_is_told_and_the_chat_goes_on(open_chat: OpenChat, tmp_path: Path) -> None:
    (tmp_path / "history.db").mkdir()
    async with open_chat() as opened:
        await opened.noticed("cannot be saved now")
        await opened.ask("hello")
        assert (await opened.ask("again")).text == TEXT
        (notice,) = opened.notices
        assert ".." not in notice and notice.endswith("MLX_SPEC_HOME names another folder.")
        opened.app.exit()  # by a signal: nobody can be asked
    assert opened.app.unsaved == 4 and opened.app.leaving.rescue == tmp_path / "hello.md"
    assert (tmp_path / "hello.md").read_text().count(TEXT) == 2


async def test_the_key_that_leaves_does_so_on_a_question_too_and_answers_no(open_chat: OpenChat) -> None:
    async with open_chat() as opened:
        dialog, given = QuestionScreen("Delete it?", "Delete", "Keep"), []
        opened.app.push_screen(dialog, given.append)
        await opened.reached(QuestionScreen)
        await opened.exited(by="ctrl+q")
        assert given == [False]


async def test_the_key_that_leaves_answers_a_question_about_leaving_under_its_help(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    (tmp_path / "history.db").mkdir()
    async with open_chat(asked="hello") as opened:
        await opened.reached(QuestionScreen, by="ctrl+q")
        await opened.reached(HelpScreen, by="f1")
        await opened.exited(by="ctrl+q")
    assert opened.app.leaving.rescue == tmp_path / "hello.md"


async def test_the_key_that_leaves_replaces_no_file_after_a_question_about_leaving_was_left_by_a_command(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    (tmp_path / "history.db").mkdir()
    (mine := tmp_path / "mine.md").write_text("mine")
    async with open_chat(asked="hello") as opened:
        await opened.reached(QuestionScreen, by="ctrl+q")
        await opened.reached(Palette, by="ctrl+p")
        await opened.reached(NoticesScreen, by=(*"notices", "enter"))
        await opened.back_in_chat(by="escape")
        await opened.type(f"/export markdown {mine}")
        await opened.reached(QuestionScreen)
        await opened.shows("2 messages could not be saved in", by="ctrl+q")
        assert mine.read_text() == "mine"


async def test_ctrl_d_deletes_or_asks_to_leave_as_ctrl_q_does(open_chat: OpenChat, tmp_path: Path) -> None:
    (tmp_path / "history.db").mkdir()
    async with open_chat(asked="hello") as opened:
        await opened.press("a", "b", "home", "ctrl+d")
        assert opened.area.text == "b"
        await opened.press("ctrl+d", "ctrl+d", "ctrl+d")
        assert opened.area.text == "" and opened.app.screen is opened.app.chat
        await opened.reached(QuestionScreen, by=("space", "backspace", "ctrl+d"))
        await opened.reached(QuestionScreen, by=("escape", "ctrl+d"))
        await opened.exited(by="ctrl+q")
    assert opened.app.unsaved == 2 and opened.app.leaving.rescue == tmp_path / "hello.md"
    async with open_chat() as opened:
        await opened.exited(by="ctrl+d")


async def test_leaving_unsaved_messages_asks_and_writes_a_file(open_chat: OpenChat, tmp_path: Path) -> None:
    (tmp_path / "history.db").mkdir()
    (tmp_path / "second-chat.md").write_text("mine")
    async with open_chat(size=(80, 24), asked="first chat") as opened:
        await opened.press("ctrl+n")
        await opened.ask("second chat")
        await opened.reached(QuestionScreen, by="ctrl+q")
        await opened.shows("4 messages could not be saved in", "missing")
        await opened.back_in_chat(by="escape")
        assert [file.name for file in tmp_path.glob("*.md")] == ["second-chat.md"]
        await opened.reached(QuestionScreen, by="ctrl+q")
        await opened.exited(by="y")
    assert opened.app.leaving.rescue == tmp_path / "second-chat-2.md"
    kept = (tmp_path / "second-chat-2.md").read_text()
    assert (tmp_path / "second-chat.md").read_text() == "mine"
    assert kept.count(TEXT) == 2 and "# first chat" in kept and "# second chat" in kept


async def test_a_prompt_that_was_not_sent_and_cannot_be_saved_is_written_to_the_file_too(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    (tmp_path / "history.db").mkdir()
    async with open_chat() as opened:
        await opened.noticed("cannot be saved now")
        opened.app.chat.prompt.fill("half a thought", Attachment("list.txt", "one\ntwo\n"))
        await opened.reached(QuestionScreen, by="ctrl+q")
        await opened.shows("1 message could not be saved in", "missing")
        await opened.exited(by="y")
    assert opened.app.unsaved == 1 and opened.app.leaving.rescue == tmp_path / "chat.md"
    assert (tmp_path / "chat.md").read_text() == (
        "# Not sent\n\nhalf a thought\n\nFile list.txt:\n```\none\ntwo\n```\n"
    )
    async with open_chat(asked="hello") as opened:
        opened.app.chat.prompt.fill("more")
        opened.app.exit()  # by a signal
    kept = (tmp_path / "hello.md").read_text()
    assert opened.app.unsaved == 3 and TEXT in kept and kept.endswith("\n\n# Not sent\n\nmore\n")


async def test_messages_that_can_be_written_nowhere_are_left_only_after_a_second_question(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "history.db").mkdir()
    async with open_chat(asked="hello") as opened:
        monkeypatch.setattr(opened.app.saved, "_exports", lambda: tmp_path / "gone")
        for answer in ("n", "y"):
            await opened.shows("2 messages could not be saved in", by="ctrl+q")
            await opened.shows("messages?", by="y")  # one word: a long folder wraps "Leave without the"
            await opened.until(lambda answer=answer: opened.app._exit == (answer == "y"), by=answer)
    assert opened.app.unsaved == 2 and opened.app.leaving.rescue is None


async def test_a_prompt_left_without_an_answer_has_an_empty_one_for_the_model(open_chat: OpenChat) -> None:
    async with open_chat() as opened:
        await opened.type("read")
        await opened.until(lambda: opened.app.state.running is not None)
        await opened.until(lambda: opened.app.state.running is None, by="/new")
        await opened.until(lambda: texts(opened) == ["read"], by="/resume last")
        assert (await opened.ask("echo")).text.startswith("read||echo|")


async def test_a_history_removed_under_a_chat_begins_anew_whole(open_chat: OpenChat, tmp_path: Path) -> None:
    async with open_chat(asked="hello") as opened:
        await opened.until(lambda: opened.app.history.flush() == 0 and bool(saved(tmp_path)))
        for file in tmp_path.glob("history.db*"):
            file.unlink()
        await opened.ask("echo")
        await opened.noticed("was moved or removed")
    ((chat, messages),) = saved(tmp_path)
    path = MessageTree(messages).path(chat.leaf)
    assert [message.text for message in path[:3]] == ["hello", TEXT, "echo"]
