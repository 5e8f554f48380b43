"""Files in the chat: named with @, completed, sent to the model and to the lookup drafter, or refused."""

import os
from pathlib import Path

import pytest

from app.tui.widgets.file_paths import files_below, matching
from app.tui.widgets.prompt import AttachmentList
from app.tui.widgets.prompt_area import PromptArea
from tests.app.tui.chat_driver import OpenChat


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "notes.md").write_text("the ``` notes \x1b[2J")
    (folder / "sub" / "my notes.txt").write_text("more")
    (folder / ".hidden" / "notes.md").write_text("no")
    (folder / "picture.png").write_bytes(b"\x89PNG\0")
    monkeypatch.chdir(folder)
    return folder


async def test_a_file_named_with_an_at_goes_to_the_model_and_to_the_lookup_drafter(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        area = chat.app.chat.query_one(PromptArea)
        await chat.pilot.press(*"echo @nts")
        await chat.until(lambda: chat.app.chat.prompt.menu.is_open)
        await chat.pilot.press("tab")
        await chat.until(lambda: area.text == "echo @notes.md ")
        await chat.pilot.press(*"x", "enter")
        await chat.until(lambda: bool(chat.answers))
        text = chat.answers[0].text
        assert text.startswith("File notes.md:\n````\nthe ``` notes \x1b[2J\n````\n\necho @notes.md x|")
        assert text.endswith("|1 documents|seed 0")
        await chat.until(lambda: "▤ notes.md" in chat.screen and "␛[2J" in chat.screen)
        await chat.ask("echo again")
        assert chat.answers[1].text.endswith("|1 documents|seed 0"), "the file stays in the chat"


async def test_a_file_written_while_the_chat_is_open_is_offered_too(
    open_chat: OpenChat, folder: Path
) -> None:
    async with open_chat() as chat:
        area = chat.app.chat.query_one(PromptArea)
        await chat.pilot.press(*"see @nts")
        await chat.until(lambda: chat.app.chat.prompt.menu.is_open)
        (folder / "later.md").write_text("new")
        await chat.pilot.press("tab", *"and @later")
        await chat.until(lambda: chat.app.chat.prompt.menu.is_open)
        await chat.pilot.press("tab")
        await chat.until(lambda: area.text == "see @notes.md and @later.md ")


async def test_what_cannot_be_attached_is_refused_and_nothing_is_sent(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        area = chat.app.chat.query_one(PromptArea)
        for prompt, said in (
            ("see @picture.png", "no UTF-8 text"),
            ("see @sub", "is a folder"),
            ("see @sub/gone.txt", "does not exist"),
            ('see @"~nobody-has-this-name/x"', "does not exist"),
        ):
            area.load_text(prompt)
            await chat.pilot.pause()
            await chat.pilot.press("escape", "enter")
            await chat.until(lambda said=said: any(said in notice for notice in chat.notices))
            await chat.until(lambda prompt=prompt: area.text == prompt)
        assert all("a blank after the @ it is sent as text" in notice for notice in chat.notices[-3:])
        assert not chat.app.state.conversation.path and not chat.answers


async def test_attached_files_are_shown_and_can_be_taken_away(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        files = chat.app.chat.query_one(AttachmentList)
        await chat.type("/attach sub/my notes.txt")
        await chat.type("/attach notes.md")
        await chat.until(lambda: [file.name for file in files.files] == ["my notes.txt", "notes.md"])
        await chat.pilot.press("backspace")
        await chat.until(lambda: len(files.files) == 1)
        await chat.ask("echo")
        assert chat.answers[0].text.startswith("File my notes.txt:\n```\nmore\n```\n\necho|")
        assert files.files == ()


async def test_a_pipe_is_refused_and_an_odd_number_is_none(open_chat: OpenChat, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    async with open_chat() as chat:
        for command in ("/import pipe", "/compare pipe", "/sweep prompts=pipe"):
            count = len(chat.notices)
            await chat.type(command)
            await chat.until(lambda count=count: len(chat.notices) > count)
            assert "pipe is no plain file" in chat.notices[-1]
        await chat.type("/copy code ²")
        await chat.until(lambda: "cannot be copied" in chat.notices[-1])


def test_paths_are_found_by_letters_in_their_order_and_generated_ones_left_out(folder: Path) -> None:
    paths = files_below(folder)
    assert paths == ["notes.md", "picture.png", "sub/my notes.txt"]
    assert matching(paths, "nts") == ["notes.md", "sub/my notes.txt"]
    assert matching(paths, "SUBtxt") == ["sub/my notes.txt"]
    assert matching(paths, "x[") == []
    assert matching(paths, f"{folder}/no") == [f"{folder}/notes.md"]


async def test_a_path_that_is_written_out_is_sent_with_one_enter(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        area = chat.app.chat.query_one(PromptArea)
        await chat.pilot.press(*"echo @notes.md")
        await chat.until(lambda: chat.app.chat.prompt.menu.is_open)
        await chat.pilot.press("enter")
        await chat.until(lambda: bool(chat.answers))
        assert chat.prompts == ["echo @notes.md"] and not area.text


async def test_an_enter_that_overtakes_the_text_that_closes_the_list_sends_the_prompt(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.pilot.press(*"echo @notes.md")
        await chat.until(lambda: chat.app.chat.prompt.menu.is_open)
        chat.press_at_once("space", "x", "enter")
        await chat.until(lambda: bool(chat.answers))
        assert chat.prompts == ["echo @notes.md x"]


async def test_a_name_that_is_no_file_is_sent_as_text_and_told(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("what is in @notse.md?")
        assert "There is no file notse.md here: @notse.md is sent as text." in chat.notices


async def test_a_folder_is_gone_into_while_a_path_is_completed(open_chat: OpenChat, folder: Path) -> None:
    (folder / "my folder").mkdir()
    (folder / "my folder" / "a.txt").write_text("x")
    async with open_chat() as chat:
        area = chat.app.chat.query_one(PromptArea)
        area.load_text(f"see @{folder}/m")
        area.move_cursor(area.document.end)
        await chat.until(lambda: chat.app.chat.prompt.menu.is_open)
        await chat.pilot.press("tab")
        await chat.until(
            lambda: area.text == f'see @"{folder}/my folder/' and chat.app.chat.prompt.menu.is_open
        )
        await chat.pilot.press("tab")
        await chat.until(lambda: area.text == f'see @"{folder}/my folder/a.txt" ')
