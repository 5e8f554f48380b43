"""A long pasted text is shown by its length, and sent with the prompt."""

from textual.events import Paste
from textual.widgets import Input

from app.tui.screens.inspector import InspectorScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.question import QuestionScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.widgets.prompt import LONGEST_LINES, AttachmentList
from tests.app.tui.chat_driver import Chat, OpenChat

LONG = "".join(f"line {number}\n" for number in range(100))


async def paste(chat: Chat, text: str) -> None:
    chat.app.post_message(Paste(text))
    await chat.until(lambda: chat.app.message_queue_size == 0)
    await chat.pilot.pause()


async def test_a_long_paste_goes_along_or_alone_and_backspace_drops_it(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as chat:
        await chat.press(*"echo")
        await paste(chat, LONG)
        await chat.shows("▤ 100 lines pasted", "Ctrl+S opens pasted text")
        assert chat.area.text == "echo" and chat.app.focused is chat.area
        await chat.answered(1, by="enter")
        assert chat.answers[0].text.startswith(f"File pasted text:\n```\n{LONG}```\n\necho|")
        await chat.until(lambda: not chat.app.chat.query_one(AttachmentList).display)
        [prompt, _] = chat.app.state.conversation.path
        assert prompt.text == "echo" and prompt.attachments[0].text == LONG
        await paste(chat, LONG)
        await chat.press("backspace")
        assert not chat.app.chat.prompt.attachments and not chat.area.text
        await paste(chat, LONG)
        await chat.answered(2, by="enter")
        assert chat.prompts == ["echo", LONG.rstrip()]
        await chat.stream()
        await paste(chat, LONG)
        await chat.settled(by="ctrl+b")
        assert chat.prompts == ["echo", LONG.rstrip(), "slow", LONG.rstrip()]


async def test_a_pasted_line_is_sent_without_its_end_and_what_is_pasted_after_it_begins_a_line(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        for line in ("echo one\n", "two\n"):
            await paste(chat, line)
        await chat.answered(1, by="enter")
        assert chat.prompts == ["echo one\ntwo"]


async def test_long_pastes_open_by_key_or_click_short_ones_become_the_prompt(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as chat:
        for key in ("ctrl+s", ""):
            await chat.press(*"ab", "left")
            await paste(chat, LONG)
            await paste(chat, "x" * 6000)
            await chat.shows("▤ 100 lines pasted · ▤ 6,000 characters pasted")
            await (chat.press(key) if key else chat.pilot.click(AttachmentList))
            await chat.until(lambda: chat.area.text == f"a{LONG}\n{'x' * 6000}b")
            assert not chat.app.chat.prompt.attachments and chat.app.focused is chat.area
            chat.area.clear()
        await chat.ask("hello")
        await chat.press("tab")
        assert chat.app.focused is chat.app.chat.transcript
        await paste(chat, "e r y")
        await chat.until(lambda: chat.area.text == "e r y" and chat.app.focused is chat.area)
        short = "\n".join(["word"] * LONGEST_LINES)
        await paste(chat, short)
        await chat.until(lambda: chat.area.text == f"e r y{short}")
        assert not chat.app.chat.prompt.attachments


async def test_ctrl_c_takes_a_long_paste_away_with_the_text_up_brings_both_back(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as chat:
        prompt = chat.app.chat.prompt
        await chat.ask("hello")
        for number, text in enumerate(("see", ""), 1):
            await chat.press(*text)
            await paste(chat, LONG)
            await chat.until(lambda: not prompt.attachments and not chat.area.text, by="ctrl+c")
            await chat.until(lambda text=text: chat.area.text == text and bool(prompt.attachments), by="up")
            await chat.press(*["up"] * number)
            await chat.until(lambda: chat.area.text == "hello" and not prompt.attachments)
            await chat.press(*["down"] * (number + 1))
            assert not chat.area.text and not prompt.attachments


async def test_a_paste_on_a_list_goes_whole_into_its_search_or_filter(open_chat: OpenChat) -> None:
    async with open_chat(asked="hello") as chat:
        for kind, key in ((SessionsScreen, "f6"), (PairsScreen, "f2")):
            screen = await chat.reached(kind, by=key)
            await chat.pilot.pause()
            await paste(chat, "two\nlines\n")
            field = screen.query_one(Input)
            await chat.until(lambda field=field: field.value == "two lines" and chat.app.focused is field)
            await chat.press("!")
            assert field.value == "two lines!"
            await chat.back_in_chat(by=["escape", "escape"])
        assert not chat.area.text


async def test_a_paste_where_nothing_can_be_written_is_told(open_chat: OpenChat) -> None:
    async with open_chat(toasts=True, asked="hello") as chat:
        await chat.reached(InspectorScreen, by="f8")
        await paste(chat, "two\nlines")
        [toast] = chat.app._notifications
        assert toast.message == (
            "There is no field here for the 9 characters pasted. Paste them into the prompt of the chat."
        )
        await chat.back_in_chat(by="escape")
        await chat.push(QuestionScreen("Sure?", "Do it", "Leave it"))
        await paste(chat, "word")
        await chat.shows("There is no field here for the 4 characters pasted.")
        await chat.back_in_chat(by="escape")
        assert not chat.area.text
