"""Prompts unsent when the program ended are back in the input of their chat; nothing is sent."""

from contextlib import suppress
from pathlib import Path

import pytest

from app.chat.past_prompts import PastPrompts
from app.history.records import Attachment
from app.history.store import History
from app.history.unsent import Unsent, unsent
from tests.app.tui.chat_driver import Chat, OpenChat

MARK = "The prompt below is not sent yet."


def files(chat: Chat) -> list[str]:
    return [file.name for file in chat.app.chat.prompt.attachments]


async def resume(chat: Chat) -> None:
    """Resume the last chat once it is offered."""
    await offered(chat)
    await chat.press("f7")


async def offered(chat: Chat) -> None:
    """Wait for the offer of the last chat and its unsent prompt; the line may be wrapped."""
    await chat.until(lambda: "where a prompt was not sent" in " ".join(chat.screen.split()))


async def test_a_prompt_half_written_is_back_once_in_its_chat_only_and_behind_up_in_another(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    async with open_chat(asked="hello") as chat:
        await chat.press(*"half")
        chat.app.exit()
    async with open_chat(size=(80, 24)) as chat:
        await offered(chat)
        assert not chat.area.text and MARK not in chat.notices, "this is another chat"
        await chat.has("half", by="up")
        await chat.until(lambda: not chat.area.text, by="down")
        await chat.answered(1, by=(*"new", "f7"))
        await chat.pilot.pause()
        assert chat.area.text == "new" and MARK not in chat.notices
        await chat.press("ctrl+c")
        await chat.until(lambda: not chat.answers, by="/new")
        await chat.until(lambda: chat.area.text == "half" and MARK in chat.notices, by="f7")
        assert chat.app.state.running is None and len(chat.answers) == 1
        await chat.answered(2, by=("x", "enter"))
        chat.app.exit()
    history = History(tmp_path / "history.db")
    assert unsent(history, chat.app.state.conversation.chat.id) == [], "once is enough"
    history.close()


async def test_a_prompt_of_a_chat_that_was_never_begun_is_back_in_the_next_one_and_so_are_files_without_one(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    file = tmp_path / "notes.md"
    file.write_text("the notes")
    async with open_chat(asked="hello") as chat:
        await chat.until(lambda: not chat.answers, by="/new")
        await chat.press(*"begun")
        chat.app.exit()
    async with open_chat() as chat:
        await chat.until(lambda: chat.area.text == "begun" and MARK in chat.notices)
        await chat.has("hello", by="up")
        await chat.answered(1, by=("ctrl+c", "f7"))
        await chat.until(lambda: bool(files(chat)), by=f"/attach {file}")
        chat.app.exit()
    file.unlink()
    async with open_chat() as chat:
        await resume(chat)
        await chat.shows("▤ notes.md (9 characters)")
        assert not chat.area.text
        await chat.ask("echo")
        assert "File notes.md:\n```\nthe notes\n```\n\necho|" in chat.answers[-1].text
        assert MARK not in chat.notices


async def test_a_prompt_half_written_survives_the_kill_of_the_program_and_only_that(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def left_behind() -> str:
        last = []
        for file in (tmp_path / "unsent").glob("*.jsonl"):
            with suppress(FileNotFoundError):  # all was sent since the folder was listed
                last.append(file.read_text().splitlines(keepends=True)[-1])
        return "".join(last)

    monkeypatch.setattr("app.tui.screens.chat.KEEP_SECONDS", 0.02)
    async with open_chat(asked="hello") as chat:
        await chat.stream("hold")
        await chat.type("waits")
        await chat.until(lambda: "half" in left_behind() and "waits" in left_behind(), by=(*"half",))
        async with open_chat() as other:
            await other.shows("goes on with 'hello'")
            assert "not sent" not in other.screen, "the other still writes it"
        killed = left_behind()
        await chat.press("ctrl+c", "escape")
        await chat.until(lambda: "half" not in left_behind() and not chat.app.state.queued)  # it was sent
        chat.app.exit()
    assert not list((tmp_path / "unsent").iterdir()), "left in order, it leaves nothing behind"
    (tmp_path / "unsent" / "killed.json").write_text(killed)
    (tmp_path / "unsent" / "broken.json").write_text("[")
    async with open_chat() as chat:
        await resume(chat)
        await chat.until(lambda: chat.area.text == "half" and f"{MARK} Up brings 1 more." in chat.notices)
        await chat.has("waits", by="up")
        left = {file.name for file in (tmp_path / "unsent").iterdir()}
        assert not left & {"killed.json", "broken.json"}


async def test_what_was_being_written_is_behind_up_when_the_palette_puts_a_command_in_its_place(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        chat.area.load_text("half written")
        chat.app.chat.prompt.attach(Attachment("notes.md", "text"))
        await chat.press("ctrl+p", *"/rename")
        await chat.has("/rename ", by="enter")
        assert chat.notices == ["Up brings back what you were writing."]
        await chat.has("half written", by="up")
        assert files(chat) == ["notes.md"]
        await chat.press("ctrl+c", "slash", *"ren", "enter")
        await chat.has("/rename ")
        assert len(chat.notices) == 1, "nothing was being written"


async def test_waiting_prompts_return_with_files_the_last_shown(open_chat: OpenChat, tmp_path: Path) -> None:
    for name in ("one.md", "two.md"):
        (tmp_path / name).write_text(f"the text of {name}")
    async with open_chat(asked="hello") as chat:
        await chat.stream("hold")
        for text in (f"first @{tmp_path / 'one.md'}", "none", f"last @{tmp_path / 'two.md'}"):
            await chat.type(f"{text} ")
        await chat.until(lambda: len(chat.app.state.queued) == 3)
        chat.app.exit()
    async with open_chat() as chat:
        await offered(chat)
        for text in ("last", "none", "first"):
            await chat.until(lambda text=text: chat.area.text.startswith(text), by="up")
        await chat.noticed(f"{MARK} Up brings 2 more.", by=("ctrl+c", "f7"))
        for keys, text, expected in (
            ((), "last", ["two.md"]),
            (("up",), "none", []),
            (("up",), "first", ["one.md"]),
            (("down", "down"), "last", ["two.md"]),
            (("up", "up", "up"), "hold", []),
        ):
            await chat.until(lambda text=text: chat.area.text.startswith(text), by=(*keys,))
            await chat.until(lambda expected=expected: files(chat) == expected)
        assert chat.app.state.running is None and not chat.app.state.queued


async def test_prompts_left_in_another_chat_come_back_with_files(open_chat: OpenChat, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("its text")
    async with open_chat(asked="hello") as chat:
        await chat.stream("hold")
        await chat.until(lambda: files(chat) == ["one.md"], by=f"/attach {tmp_path / 'one.md'}")
        await chat.type("echo first")
        await chat.until(lambda: len(chat.app.state.queued) == 1)
        await chat.press("ctrl+n")
        await chat.noticed("A prompt that waited was not sent. Up brings the text back, with its files")
        await chat.until(lambda: chat.area.text == "echo first" and files(chat) == ["one.md"], by="up")
        await chat.answered(1, by="enter")
        assert "its text" in chat.answers[0].text
        await chat.has("echo first", by="up")
        assert not files(chat), "sent once, it is a prompt like any other"


async def test_a_failed_prompt_whose_text_was_recalled_meanwhile_comes_back_with_its_files(
    open_chat: OpenChat,
) -> None:
    async with open_chat(asked="hello") as chat:
        await chat.has("hello", by="up")
        chat.app.chat.view.return_prompts([Unsent("hello", (Attachment("one.md", "its text"),))])
        await chat.until(lambda: files(chat) == ["one.md"])
        await chat.has("", by="ctrl+c")
        await chat.until(lambda: chat.area.text == "hello" and files(chat) == ["one.md"], by="up")


async def test_up_takes_back_all_that_waits_before_it_recalls_anything_that_was_sent(
    open_chat: OpenChat,
) -> None:
    async with open_chat(asked="hello") as chat:
        await chat.stream("hold")
        for text in ("first", "second"):
            await chat.type(text)
        await chat.until(lambda: len(chat.app.state.queued) == 2)
        await chat.has("second", by="up")
        await chat.has("first\nsecond", by="up")
        assert not chat.app.state.queued, "what is in the prompt is not asked a second time"
        await chat.press("enter")
        await chat.settled(by="escape")
        assert chat.prompts == ["hello", "hold", "first\nsecond"]


def test_up_skips_the_text_that_was_given_back() -> None:
    past = PastPrompts()
    past.add("two")
    past.begin(["one", "two"])
    assert past.earlier(Unsent("two")) == Unsent("one")
    assert past.later(Unsent("one")) == Unsent("two")


def test_files_stay_with_the_prompt_that_they_were_attached_to_or_with_the_one_being_written() -> None:
    past = PastPrompts()
    old, new, more = ((Attachment(name, ""),) for name in ("old", "new", "more"))
    past.begin(["one"])
    past.add("two", old)
    assert past.earlier(Unsent("half", new)) == Unsent("two", old)
    assert past.earlier(Unsent("two")) == Unsent("one", new)
    assert past.later(Unsent("one", more)) == Unsent("two")
    assert past.later(Unsent("two")) == Unsent("half", more)


def test_a_recalled_prompt_that_was_changed_is_as_it_was_left_until_one_is_sent() -> None:
    past = PastPrompts()
    past.begin(["one", "two"])
    assert past.earlier(Unsent("")) == Unsent("two")
    assert past.earlier(Unsent("two, changed")) == Unsent("one")
    assert past.later(Unsent("")) == Unsent("two, changed")
    assert past.earlier(Unsent("two, changed")) == Unsent("one")
    past.add("three")
    assert past.earlier(Unsent("")) == Unsent("three")
    assert past.earlier(Unsent("three")) == Unsent("two")


def test_what_was_being_written_is_behind_the_recalled_prompt_that_was_sent_in_its_place() -> None:
    past = PastPrompts()
    old, new = ((Attachment(name, ""),) for name in ("old", "new"))
    past.begin(["one"])
    past.add("two", old)
    assert past.earlier(Unsent("half written", new)) == Unsent("two", old)
    past.add("two")
    assert past.earlier(Unsent("")) == Unsent("two")
    assert past.earlier(Unsent("two")) == Unsent("half written", new)
    assert past.earlier(Unsent("half written", new)) == Unsent("one")
    past = PastPrompts()
    past.begin(["one"])
    assert past.earlier(Unsent("half written", new)) == Unsent("one", new)
    past.add("one")  # the files were sent with it
    assert past.earlier(Unsent("")) == Unsent("one")
    assert past.earlier(Unsent("one")) == Unsent("half written")


def test_prompts_of_earlier_runs_that_are_read_late_leave_the_recalled_one_where_it_is() -> None:
    past = PastPrompts()
    for text in ("two", "three"):
        past.add(text)
    assert past.earlier(Unsent("")) == Unsent("three")
    assert past.earlier(Unsent("changed")) == Unsent("two")
    past.begin(["one"])
    assert past.earlier(Unsent("two")) == Unsent("one")
    assert past.later(Unsent("one")) == Unsent("two")
    assert past.later(Unsent("two")) == Unsent("changed")
