"""A temporary chat leaves nothing on the disk."""

from pathlib import Path

import pytest

from app.history.records import Attachment
from app.tui.screens.compare import CompareScreen
from tests.app.read_only import read_only
from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.test_compare import compared
from tests.app.tui.test_saved_chats import saved, texts

SECRET = b"s3cr3t"


def on_disk(home: Path) -> list[Path]:
    return [file for file in home.rglob("*") if file.is_file() and SECRET in file.read_bytes()]


async def test_nothing_of_a_temporary_chat_is_written(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tui.screens.chat.KEEP_SECONDS", 0.02)
    async with open_chat(size=(80, 24), asked="hello") as opened:
        await opened.noticed("This chat is temporary", by="f10")
        await opened.shows("temporary")
        await opened.type("/system s3cr3t")
        await opened.ask("echo s3cr3t")
        await compared(opened)
        await opened.back_in_chat(by="escape")
        await opened.until(lambda: len(opened.app.state.conversation.tree) == 3, by="/regenerate")
        await opened.settled()
        for command in ("/delete", "/archive"):
            await opened.type(command)
            await opened.until(
                lambda: "This chat is temporary: nothing of it is on disk" in opened.notices[-1]
            )
        await opened.type("/rename s3cr3t")
        await opened.until(lambda: opened.app.state.editing is not None, by=("tab", "up", "e"))
        await opened.press("escape")
        await opened.stream("hold")
        await opened.type("s3cr3t waits")
        await opened.until(lambda: len(opened.app.state.queued) == 1)
        opened.area.load_text("s3cr3t half")
        await opened.until(lambda: texts(opened) == [], by="ctrl+n")
        assert "temporary" not in opened.screen.splitlines()[-2] and not opened.area.text
        await opened.pilot.pause(0.1)
        assert on_disk(tmp_path) == []
        await opened.press("f10")
        await opened.has("s3cr3t half", by="up")
        opened.area.load_text("s3cr3t half")
        await opened.pilot.pause(0.1)
        await opened.exited(by="ctrl+q")
    assert [chat.title for chat, _ in saved(tmp_path)] == ["hello"]
    assert on_disk(tmp_path) == []


async def test_a_temporary_chat_is_exported_where_it_is_asked_for_and_needs_no_disk(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "mlx-spec"
    monkeypatch.setenv("MLX_SPEC_HOME", str(home))
    with read_only(home):
        async with open_chat(is_kept=False) as opened:
            await opened.shows("temporary")
            await opened.ask("s3cr3t")
            await opened.noticed("Written to", by="/export")
            await opened.exited(by="ctrl+q")
    assert opened.app.unsaved == 0 and not home.exists()
    assert on_disk(tmp_path) == [tmp_path / "s3cr3t.md"]


async def test_a_comparison_of_a_temporary_chat_that_is_left_for_one_that_is_kept_is_not_written(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    async with open_chat(is_kept=False) as opened:
        await opened.ask("echo s3cr3t")
        screen = await opened.reached(CompareScreen, by="/sweep length=1-2 repeats=50")
        await opened.until(lambda: screen.progress is not None and screen.progress.collector.count > 2)
        await opened.press("ctrl+p", *"/new")
        await opened.noticed("You left the comparison", by="enter")
        assert opened.app.state.conversation.is_kept and on_disk(tmp_path) == []


async def test_a_prompt_read_together_with_what_begins_a_kept_chat_stays_in_the_temporary_one(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    async with open_chat() as opened:
        for begins in (("slash", *"new", "enter"), ("ctrl+n",)):
            await opened.until(lambda: not opened.app.state.conversation.is_kept, by="f10")
            opened.press_at_once(*"s3cr3t", "enter", *begins)
            await opened.until(lambda: opened.app.state.conversation.is_kept)
            await opened.pilot.pause()
            assert texts(opened) == [] and on_disk(tmp_path) == []


async def test_a_prompt_that_waits_in_a_temporary_chat_is_behind_up_with_its_files_where_a_kept_one_begins(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    pasted = Attachment("list.txt", "s3cr3t\n" * 30)
    async with open_chat(is_kept=False) as opened:
        await opened.stream("hold")
        opened.app.chat.prompt.attach(pasted)
        await opened.type("s3cr3t waits")
        await opened.until(lambda: len(opened.app.state.queued) == 1)
        await opened.noticed("A prompt that waited was not sent. Up brings the text back, with", by="ctrl+n")
        await opened.pilot.pause()
        assert opened.app.history.flush() == 0 and on_disk(tmp_path) == []
        await opened.has("s3cr3t waits", by="up")
        assert opened.app.chat.prompt.attachments == (pasted,)
