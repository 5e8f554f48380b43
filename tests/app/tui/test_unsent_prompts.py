"""What was written and not sent when the program ended is back in the prompt of its chat; nothing is sent."""

from pathlib import Path

from app.chat.past_prompts import PastPrompts
from tests.app.tui.chat_driver import Chat, OpenChat

MARK = "not sent yet"


def told(chat: Chat) -> str:
    return str(chat.app.chat.prompt.area.border_title or "")


def written(chat: Chat) -> str:
    return chat.app.chat.prompt.area.text


async def test_a_prompt_half_written_is_back_in_the_chat_it_belongs_to(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("hello")
        await chat.pilot.press(*"half")
        chat.app.leave()
    async with open_chat(size=(80, 24)) as chat:
        await chat.until(lambda: any("where a prompt was not sent" in one for one in chat.notices))
        assert not written(chat) and not told(chat), "this is another chat"
        await chat.pilot.press("f7")
        await chat.until(lambda: written(chat) == "half" and told(chat) == MARK)
        assert MARK in chat.screen
        chat.app.chat.view.show()
        assert told(chat) == MARK and chat.app.state.running is None and len(chat.answers) == 1
        await chat.pilot.press("x")
        await chat.until(lambda: written(chat) == "halfx" and not told(chat))
        await chat.pilot.press("enter")
        await chat.until(lambda: len(chat.answers) == 2)
    async with open_chat() as chat:
        await chat.until(lambda: any("goes on with" in one for one in chat.notices))
        assert not any("not sent" in one for one in chat.notices)
        await chat.pilot.press("f7")
        await chat.until(lambda: len(chat.answers) == 2)
        await chat.pilot.pause(0.1)
        assert not written(chat), "once is enough"


async def test_a_prompt_of_a_chat_that_was_never_begun_is_back_in_the_next_one(open_chat: OpenChat) -> None:
    for _ in range(2):
        async with open_chat() as chat:
            await chat.ask("hello")
            await chat.type("/new")
            await chat.until(lambda: not chat.answers)
            await chat.pilot.press(*"begun")
            chat.app.leave()
        async with open_chat() as chat:
            await chat.until(lambda: written(chat) == "begun" and told(chat) == MARK)
            await chat.pilot.press("up")
            await chat.until(lambda: written(chat) == "hello")
            await chat.pilot.press("ctrl+c")
            await chat.until(lambda: not written(chat))


async def test_prompts_that_waited_are_back_the_last_in_view_the_others_behind_up(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.ask("hello")
        await chat.type("hold")
        await chat.until(lambda: chat.app.state.running is not None)
        for text in ("first", "second"):
            await chat.type(text)
        await chat.until(lambda: len(chat.app.state.queued) == 2)
        chat.app.leave()
    async with open_chat() as chat:
        await chat.until(lambda: any("where a prompt was not sent" in one for one in chat.notices))
        await chat.pilot.press("f7")
        await chat.until(lambda: written(chat) == "second" and told(chat) == f"{MARK} · Up: 1 more")
        await chat.pilot.press("up")
        await chat.until(lambda: written(chat) == "first" and not told(chat))
        assert chat.app.state.running is None and not chat.app.state.queued


async def test_of_several_prompts_that_waited_each_has_its_own_files_again(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    def files() -> list[str]:
        return [file.name for file in chat.app.chat.prompt.attachments]

    for name in ("one.md", "two.md"):
        (tmp_path / name).write_text(f"the text of {name}")
    async with open_chat() as chat:
        await chat.ask("hello")
        await chat.type("hold")
        await chat.until(lambda: chat.app.state.running is not None)
        for text in (f"first @{tmp_path / 'one.md'}", "none", f"last @{tmp_path / 'two.md'}"):
            await chat.type(f"{text} ")
        await chat.until(lambda: len(chat.app.state.queued) == 3)
        chat.app.leave()
    async with open_chat() as chat:
        await chat.until(lambda: any("where a prompt was not sent" in one for one in chat.notices))
        await chat.pilot.press("f7")
        await chat.until(lambda: written(chat).startswith("last") and files() == ["two.md"])
        await chat.pilot.press("up")
        await chat.until(lambda: written(chat).startswith("none") and not files())
        await chat.pilot.press("up")
        await chat.until(lambda: written(chat).startswith("first") and files() == ["one.md"])
        await chat.pilot.press("down", "down")
        await chat.until(lambda: written(chat).startswith("last") and files() == ["two.md"])
        await chat.pilot.press("up", "up", "up")
        await chat.until(lambda: written(chat) == "hold" and not files())
        await chat.pilot.press("down", "ctrl+n")
        await chat.until(lambda: not chat.answers)


async def test_prompts_left_behind_in_another_chat_come_back_with_their_files(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    (tmp_path / "one.md").write_text("its text")
    async with open_chat() as chat:
        await chat.ask("hello")
        await chat.type("hold")
        await chat.until(lambda: chat.app.state.running is not None)
        await chat.type(f"/attach {tmp_path / 'one.md'}")
        await chat.until(lambda: bool(chat.app.chat.prompt.attachments))
        await chat.type("echo first")
        await chat.until(lambda: len(chat.app.state.queued) == 1)
        await chat.pilot.press("ctrl+n")
        await chat.until(lambda: any("Up brings the text back, with its files" in n for n in chat.notices))
        await chat.pilot.press("up")
        await chat.until(lambda: written(chat) == "echo first" and len(chat.app.chat.prompt.attachments) == 1)
        await chat.pilot.press("enter")
        await chat.until(lambda: len(chat.answers) == 1)
        assert "its text" in chat.answers[0].text
        await chat.pilot.press("up")
        await chat.until(lambda: written(chat) == "echo first")
        assert not chat.app.chat.prompt.attachments, "sent once, it is a prompt like any other"


async def test_attached_files_are_back_too_with_their_prompt_or_alone(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    for text in ("about it", ""):
        file = tmp_path / "notes.md"
        file.write_text("the notes")
        async with open_chat() as chat:
            await chat.ask("hello")
            await chat.type(f"/attach {file}")
            await chat.until(lambda: bool(chat.app.chat.prompt.attachments))
            await chat.pilot.press(*text)
            chat.app.leave()
        file.unlink()
        async with open_chat() as chat:
            await chat.until(lambda: any("where a prompt was not sent" in one for one in chat.notices))
            await chat.pilot.press("f7")
            await chat.until(lambda: "▤ notes.md (9 characters)" in chat.screen)
            assert written(chat) == text
            await chat.ask("echo")
            assert "File notes.md:\n```\nthe notes\n```\n\necho|" in chat.answers[-1].text
            await chat.pilot.pause(0.1)
            assert not told(chat)


async def test_what_is_being_written_is_not_replaced(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("hello")
        await chat.pilot.press(*"half")
        chat.app.leave()
    async with open_chat() as chat:
        await chat.until(lambda: any("where a prompt was not sent" in one for one in chat.notices))
        await chat.pilot.press(*"new", "f7")
        await chat.until(lambda: len(chat.answers) == 1)
        await chat.pilot.pause(0.1)
        assert written(chat) == "new" and not told(chat)
        await chat.pilot.press("ctrl+c")
        await chat.type("/new")
        await chat.until(lambda: not chat.answers)
        await chat.pilot.press("f7")
        await chat.until(lambda: written(chat) == "half")


def test_up_skips_the_text_that_was_given_back() -> None:
    past = PastPrompts()
    past.begin(["one", "two"])
    assert past.earlier("two") == "one"
    assert past.later("one") == "two"


async def test_a_prompt_that_comes_back_because_its_answer_failed_is_not_said_to_be_read(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(40, 24)) as chat:
        await chat.type("fail")
        await chat.until(lambda: written(chat) == "fail")
        await chat.until(lambda: "● scripted" in chat.screen)
        assert "reading" not in chat.screen


async def test_a_prompt_that_failed_while_another_was_written_is_told_of_and_behind_up(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.type("hold")
        await chat.until(lambda: chat.app.state.running is not None)
        await chat.type("fail")
        chat.app.chat.prompt.fill("next")
        await chat.pilot.press("escape")
        await chat.until(
            lambda: "A prompt that waited was not sent. Up brings the text back." in chat.notices
        )
        assert written(chat) == "next"
        await chat.pilot.press("up")
        await chat.until(lambda: written(chat) == "fail")
