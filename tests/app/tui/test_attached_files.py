"""Files in the chat: named with @, completed, sent to the model and to the lookup drafter, or refused."""

import os
import shutil
from pathlib import Path

import pytest
from textual.events import Paste

from app.tui.widgets.file_paths import files_below, matching
from app.tui.widgets.prompt import AttachmentList
from tests.app.tui.chat_driver import Chat, OpenChat


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


async def menu_opens(chat: Chat) -> None:
    await chat.until(lambda: chat.app.chat.prompt.menu.is_open)


async def test_a_file_named_with_an_at_goes_to_model_and_drafter_however_fast(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.press(*"echo @nts")
        await menu_opens(chat)
        await chat.has("echo @notes.md ", by="tab")
        await chat.answered(1, by=(*"x", "enter"))
        text = chat.answers[0].text
        assert text.startswith("File notes.md:\n````\nthe ``` notes \x1b[2J\n````\n\necho @notes.md x|")
        assert text.endswith("|1 documents|seed 0")
        await chat.shows("▤ notes.md", "␛[2J")
        await chat.ask("echo again")
        assert chat.answers[1].text.endswith("|1 documents|seed 0"), "the file stays in the chat"
        for keys, count in ((["enter"], 3), (["space", "x", "enter"], 4)):
            await chat.press(*"echo @notes.md")
            await menu_opens(chat)
            chat.press_at_once(*keys)
            await chat.until(lambda count=count: len(chat.answers) == count)
        assert chat.prompts[2:] == ["echo @notes.md", "echo @notes.md x"] and not chat.area.text


async def test_dropped_files_get_an_at_and_other_pastes_stay(open_chat: OpenChat, folder: Path) -> None:
    spaced = f"{folder}/sub/my notes.txt"
    narrow = f"{folder}/at\u00a03.45\u202fPM.txt"  # as macOS names what it makes
    Path(narrow).touch()
    async with open_chat() as chat:
        for before, pasted, after in (
            ("", narrow, f'@"{narrow}" '),
            ("", f"{spaced} ".replace("my notes", r"my\ notes"), f'@"{spaced}" '),
            ("of", f"'{spaced}' {folder}/notes.md", f'of @"{spaced}" @{folder}/notes.md '),
            ("@", f"{folder}/notes.md", f"@{folder}/notes.md"),
            ("", f"{folder}/none.md", f"{folder}/none.md"),
            ("", "notes.md", "notes.md"),
            ("", "/ it's", "/ it's"),
        ):
            chat.area.load_text(before)
            chat.area.move_cursor(chat.area.document.end)
            chat.app.post_message(Paste(pasted))
            await chat.until(lambda after=after: chat.area.text == after)
        chat.area.load_text("")
        chat.app.post_message(Paste(f"{folder}/notes.md "))
        await chat.until(lambda: bool(chat.area.text))
        await chat.answered(1, by="enter")
        await chat.shows("▤ notes.md")


async def test_paths_are_completed_into_folders_and_to_new_files(open_chat: OpenChat, folder: Path) -> None:
    (folder / "my folder").mkdir()
    (folder / "my folder" / "a.txt").write_text("x")
    async with open_chat() as chat:
        await chat.press(*"see @nts")
        await menu_opens(chat)
        (folder / "later.md").write_text("new")
        await chat.press("tab", *"and @later")
        await menu_opens(chat)
        await chat.until(lambda: chat.area.text == "see @notes.md and @later.md ", by="tab")
        chat.area.load_text(f"see @{folder}/my")
        chat.area.move_cursor(chat.area.document.end)
        for completed in (f'see @"{folder}/my folder/', f'see @"{folder}/my folder/a.txt" '):
            await menu_opens(chat)
            await chat.until(lambda completed=completed: chat.area.text == completed, by="tab")


async def test_up_and_down_go_on_from_a_prompt_that_ends_in_a_file_and_from_a_command(
    open_chat: OpenChat,
) -> None:
    texts = ["see @notes.md", "see @notes.md again", "/notices", "see @notes.md and @my"]
    async with open_chat() as chat:
        for text in texts:
            chat.app.chat.prompt.past.add(text)
        for key, order in (("up", texts[::-1]), ("down", texts[1:])):
            for text in order:
                await chat.has(text, by=key)
                await chat.pilot.pause(0)
        await chat.press("backspace")
        await menu_opens(chat)


async def test_what_cannot_be_attached_is_refused_and_nothing_sent(open_chat: OpenChat, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    async with open_chat() as chat:
        for prompt, reason in (
            ("see @picture.png", "is not UTF-8 text"),
            ("see @sub", "is a folder"),
            ("see @sub/gone.txt", "There is no file sub/gone.txt"),
            ('see @"~nobody-has-this-name/x"', "There is no file ~nobody-has-this-name/x"),
        ):
            chat.area.load_text(prompt)
            await chat.pilot.pause()
            await chat.noticed(reason, by=("escape", "enter"))
            await chat.until(lambda prompt=prompt: chat.area.text == prompt)
        assert all("a blank after the @ it is sent as text" in notice for notice in chat.notices[-3:])
        for command in ("/import pipe", "/compare pipe", "/sweep prompts=pipe"):
            count = len(chat.notices)
            await chat.type(command)
            await chat.until(lambda count=count: len(chat.notices) > count)
            assert "pipe is no plain file" in chat.notices[-1]
        assert not chat.app.state.conversation.path and not chat.answers
        await chat.ask("what is in @notse.md?")
        assert "There is no file notse.md here: @notse.md is sent as text." in chat.notices
        await chat.ask('print @"five"')
        assert chat.notices[-1] == 'There is no file five here: @"five" is sent as text.'


async def test_names_of_no_files_are_told_in_one_notice_as_code_may_have_many(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask('a = @"one"; b = @"two\nwords"; c = @"one"; see @notse.md')
        assert chat.notices == ["There are no files one, two words, notse.md here: they are sent as text."]


async def test_files_of_a_prompt_or_an_edit_are_shown_sent_once_or_taken_away(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        files = chat.app.chat.query_one(AttachmentList)
        await chat.type("/attach sub/my notes.txt")
        await chat.type("/attach notes.md")
        await chat.until(lambda: [file.name for file in files.files] == ["my notes.txt", "notes.md"])
        await chat.until(lambda: len(files.files) == 1, by="backspace")
        await chat.press("backspace")
        await chat.press(*"/attach @my", "enter", "enter")  # as the prompt completes it
        await chat.until(lambda: [file.name for file in files.files] == ["my notes.txt"])
        await chat.ask("echo")
        assert chat.answers[0].text.startswith("File my notes.txt:\n```\nmore\n```\n\necho|")
        assert files.files == ()
        await chat.until(lambda: not chat.answers, by="/new")
        await chat.until(lambda: len(files.files) == 1, by="/attach sub/my notes.txt")
        await chat.ask("echo @notes.md ")
        await chat.edit()
        assert [file.name for file in files.files] == ["my notes.txt", "notes.md"]
        await chat.press("x", "enter")
        await chat.until(lambda: chat.prompts == ["echo @notes.md x"] and bool(chat.answers))
        assert "|2 documents" in chat.answers[-1].text
        await chat.edit()
        await chat.until(lambda: not chat.app.state.editing and not files.files, by="escape")
        await chat.edit()
        chat.area.load_text("")
        await chat.press("backspace", "backspace", *"echo", "enter")
        await chat.until(lambda: chat.prompts == ["echo"] and bool(chat.answers))
        assert "|0 documents" in chat.answers[-1].text


async def test_an_edited_prompt_has_the_file_that_it_names_as_it_is_now(
    open_chat: OpenChat, folder: Path
) -> None:
    async with open_chat() as chat:
        files = chat.app.chat.query_one(AttachmentList)
        (folder / "sub" / "notes.md").write_text("beside")
        await chat.until(lambda: len(files.files) == 1, by="/attach sub/notes.md")
        await chat.ask("echo @notes.md ")
        (folder / "notes.md").write_text("changed")
        await chat.edit()
        await chat.press("x", "enter")
        await chat.until(lambda: chat.prompts == ["echo @notes.md x"] and bool(chat.answers))
        sent = chat.app.state.conversation.path[0].attachments
        assert [(file.name, file.text) for file in sent] == [("notes.md", "beside"), ("notes.md", "changed")]


def test_paths_are_found_by_letters_in_their_order_and_generated_ones_left_out(folder: Path) -> None:
    paths = files_below(folder)
    assert paths == ["notes.md", "picture.png", "sub/my notes.txt"]
    assert matching(paths, "nts") == ["notes.md", "sub/my notes.txt"]
    assert matching(paths, "SUBtxt") == ["sub/my notes.txt"]
    assert matching(paths, "x[") == []
    assert matching(paths, f"{folder}/no") == [f"{folder}/notes.md"]


def test_a_path_that_contains_what_was_typed_comes_before_one_with_its_letters_apart() -> None:
    paths = ["app/cli.py", "app/shell/errors.py", "app/tui/app.py", "app/tui/screens/selecting.py"]
    assert matching(paths, "app.py")[0] == "app/tui/app.py"
    assert matching(paths, "Sel") == ["app/tui/screens/selecting.py", "app/shell/errors.py"]


async def test_detaching_tells_how_many_files_were_left_out_or_that_there_was_none(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.noticed("No file is attached. /attach FILE attaches one.", by="/detach")
        await chat.type("/attach notes.md")
        await chat.noticed("1 attached file removed.", by="/detach")


async def test_a_copied_prompt_has_its_pasted_text_and_no_file_which_is_said(
    open_chat: OpenChat, copied: list[str]
) -> None:
    pasted = "a line\n" * 30
    async with open_chat() as chat:
        chat.app.post_message(Paste(pasted))
        await chat.until(lambda: bool(chat.app.chat.prompt.attachments))
        await chat.ask("sum up @notes.md")
        await chat.noticed("Copied the prompt with its pasted text (228 characters)", by=("tab", "up", "y"))
        assert copied == [f"sum up @notes.md\n\n{pasted}"]


async def test_with_the_current_folder_removed_nothing_is_offered_and_exports_go_to_the_downloads(
    open_chat: OpenChat, folder: Path, tmp_path: Path
) -> None:
    async with open_chat(asked="hello") as chat:
        shutil.rmtree(folder)
        await chat.press(*"echo @n")
        await chat.answered(2, by="enter")
        assert "|echo @n|" in chat.answers[1].text
        await chat.noticed(f"Written to {tmp_path}/hello.md.", by="/export")
        await chat.noticed("x.md cannot be written: the current folder was removed.", by="/export x.md")
