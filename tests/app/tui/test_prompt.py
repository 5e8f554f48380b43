"""Typing: the prompt, and the commands that a slash or the palette offers."""

import threading
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.events import Key, Paste
from textual.keys import _character_to_key
from textual.widgets import Input, OptionList
from textual.widgets._toast import ToastRack

from app.chat.attachments import PASTED
from app.chat.slash_commands import SLASH_COMMANDS, SlashCommand
from app.history.records import Attachment
from app.history.store import History
from app.tui.app import ChatApp
from app.tui.screens.question import LineQuestionScreen
from app.tui.widgets.answer import Answer
from tests.app.tui.chat_driver import OpenChat, keys_shown


async def test_what_is_typed_and_pasted_stays_whole_grows_the_prompt_and_goes_to_it_after_a_click(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount = ChatApp.on_mount

    def typed_ahead(app: ChatApp) -> None:
        for key in ("h", "i", "ctrl+j", *"early"):  # a line feed: Enter, before the screen is set up
            app.post_message(Key(key, "\n" if key == "ctrl+j" else key))
        mount(app)

    monkeypatch.setattr(ChatApp, "on_mount", typed_ahead)
    async with open_chat() as chat:
        await chat.until(lambda: chat.area.text == "early" and chat.prompts == ["hi"])
        await chat.answered(1)
        chat.area.clear()
        for character in "👩\u200d👧 می\u200cخواهم":
            chat.area.post_message(Key(_character_to_key(character), character))
        await chat.until(lambda: chat.area.text == "👩\u200d👧 می\u200cخواهم")
        chat.area.clear()
        await chat.press("a", "ctrl+j", "b", "shift+enter", "c")
        await chat.until(lambda: chat.area.size.height == 3 and chat.area.text == "a\nb\nc")
        await chat.answered(2, by="enter")
        assert chat.prompts[1] == "a\nb\nc"
        await chat.until(lambda: chat.area.text == "" and chat.area.size.height == 1)
        await chat.pilot.click(Answer)
        await chat.press("x")
        assert chat.area.text == "x"
        chat.area.clear()
        chat.app.post_message(Paste("\x1b[31m" + "long line of text\r\n" * 200))
        await chat.until(lambda: bool(chat.app.chat.prompt.attachments))
        await chat.until(lambda: chat.area.size.height == 8, by="ctrl+s")
        assert chat.area.text.startswith("␛[31mlong line")
        assert chat.area.text.count("\n") == 200 and "\r" not in chat.area.text


async def test_at_first_tab_leads_nowhere_and_keys_together_edit_in_their_order(open_chat: OpenChat) -> None:
    keys = (*"teh", "backspace", "backspace", *"he", "left", "left", "O", "home", "N", "end", "!")
    async with open_chat() as chat:
        await chat.has("hello", by=("tab", *"he", "shift+tab", *"llo"))
        await chat.noticed("There are no messages yet.")
        await chat.answered(1, by="enter")
        await chat.press("tab")
        assert chat.app.focused is chat.app.chat.transcript
        await chat.press("escape")
        chat.press_at_once(*keys)
        await chat.until(lambda: chat.area.text.endswith("!"))
        await chat.pilot.pause()
        assert chat.area.text == "NtOhe!"
        chat.press_at_once("ctrl+c", *"abc")
        await chat.has("abc")
        await chat.pilot.pause()
        assert chat.area.text == "abc", "Ctrl+C empties what was written before it"
        field = (await chat.push(LineQuestionScreen("Title", ""))).query_one(Input)
        chat.press_at_once(*keys)
        await chat.until(lambda: field.value.endswith("!"))
        await chat.pilot.pause()
        assert field.value == "NtOhe!"
        field.clear()
        for character in "👩\u200d👧 می\u200cخواهم":
            field.post_message(Key(_character_to_key(character), character))
        await chat.until(lambda: field.value == "👩\u200d👧 می\u200cخواهم")


async def test_commands_are_read_whole_or_at_forty_columns_the_chosen_one(open_chat: OpenChat) -> None:
    async with open_chat(size=(120, 24)) as chat:
        menu = chat.app.chat.prompt.menu

        def are_whole() -> bool:
            """Whether the lines of the list have all of its width and no more."""
            room = menu.scrollable_content_region.width
            lines = [line for option in menu.options for line in str(option.prompt).splitlines()]
            return room - 5 < max(map(len, lines)) <= room

        for width in (120, 80):
            await chat.pilot.resize_terminal(width, 24)
            await chat.shows("/compare [all|FILE]", by="slash")
            await chat.until(lambda width=width: chat.app.size.width == width and are_whole())
            await chat.press("escape", "backspace")
        await chat.pilot.resize_terminal(40, 24)
        await chat.press("slash", "down", "down")
        await chat.shows("/sweep [length=0-8 drafter=...]", "Compare several settings;")
        await chat.shows("prompts=all|FILE repeats=N")
        await chat.shows("Run the last prompt, default", by="up")
        assert str(menu.options[2].prompt).startswith("/sweep        Compare several settings")


async def test_a_slash_offers_commands_and_drafters_and_mistakes_are_explained(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        menu = chat.app.chat.prompt.menu
        await chat.until(lambda: chat.app.state.link.info is not None)
        chat.area.load_text("/drafter ")
        await chat.until(lambda: menu.is_open)
        await chat.press("down", "down", "enter")
        assert chat.area.text == "/drafter model"
        await chat.noticed("Drafter is model+lookup from the next answer on.", by=("+", "enter", "enter"))
        assert chat.app.state.settings.options.drafter == "model+lookup"
        await chat.noticed("scripted has no drafter eagle. It has: lookup, model.", by="/drafter eagle")
        assert chat.app.state.settings.options.drafter == "model+lookup"
        chat.area.load_text("/drafter ")
        await chat.press("escape", "enter")
        await chat.noticed("Drafter is model+lookup. Change it with /drafter auto|NAME; scripted has lookup,")
        chat.area.clear()
        await chat.until(lambda: menu.is_open, by=("slash", "d", "r", "a"))
        assert isinstance(menu.chosen, SlashCommand) and menu.chosen.name == "draft"
        await chat.has("/draft ", by="enter")
        await chat.until(lambda: not chat.app.state.settings.drafting, by=("o", "f", "f", "enter"))
        assert not menu.is_open
        await chat.has("/sweep ", by=("slash", *"sw", "tab"))  # Enter would run it, Tab completes it
        await chat.noticed("'9' is nothing to sweep.", by=("9", "enter"))
        chat.press_at_once("slash", *"length", "space", "3", "enter")
        await chat.noticed("ength is 3")
        chat.press_at_once("slash", *"leng", "enter", "4", "enter")  # the first Enter chooses the command
        await chat.noticed("ength is 4")
        await chat.until(lambda: chat.app.state.settings.options.draft_length is None, by="/length auto")
        await chat.noticed("/temperature", by="/temprature 1")
        await chat.noticed("between 0.0001 and 10", by="/temperature 99")
        await chat.noticed(
            "Think is off from the next answer on; scripted has no switch for a thought.", by="/think off"
        )
        await chat.noticed("it must be auto, on, off, low, medium or high (off?)", by="/think of")
        await chat.until(
            lambda: "There is no answer yet. Send a prompt first." in chat.notices, by="/thoughts"
        )
        await chat.ask("hello")
        await chat.noticed("There are no thoughts in this answer.", by="/thoughts")
        await chat.noticed("'lenght=3' is nothing to sweep. Give length=", by="/sweep lenght=3")
        await chat.has("/sweep lenght=3", by="up")


async def test_enter_after_the_whole_name_of_a_command_says_which_value_it_needs(open_chat: OpenChat) -> None:
    async with open_chat(asked="hello") as chat:
        await chat.has("/rename ", by=("slash", *"ren", "enter"))  # completed: more is being typed
        assert not chat.notices
        chat.area.clear()
        await chat.noticed("Write its value: /rename TITLE", by=("slash", *"rename", "enter"))
        await chat.has("/rename ")
        await chat.noticed("The chat is now 'X'.", by=("X", "enter"))


async def test_enter_after_the_whole_name_of_a_setting_says_what_holds_and_begins_its_value(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.noticed(
            "Think is auto. Change it with /think auto|on|off", by=("slash", *"think", "enter")
        )
        await chat.has("/think ")
        await chat.noticed("Think is low from the next answer on", by=(*"low", "enter"))


async def test_tab_behind_a_value_that_it_cannot_complete_stays_in_the_prompt(open_chat: OpenChat) -> None:
    async with open_chat(asked="hello") as chat:
        await chat.has("/preset short", by=("slash", *"preset sho", "tab", *"rt"))
        chat.area.clear()
        await chat.until(lambda: chat.app.chat.transcript.has_focus, by=(*"short", "tab"))


async def test_the_names_of_presets_are_completed_those_of_an_earlier_start_too(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.noticed("Preset 'terse' is saved", by="/preset save terse")
        await chat.has("/preset terse", by=("slash", *"preset te", "tab"))
    async with open_chat() as chat:
        await chat.until(lambda: bool(chat.app.saved.presets))
        await chat.has("/preset delete terse", by=("slash", *"preset delete ", "tab"))
        await chat.noticed("Preset 'terse' is deleted.", by="enter")
        await chat.has("/preset ", by=("slash", *"preset ", "tab"))


async def test_the_palette_offers_every_command_and_finds_it_by_what_it_does(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.reached(CommandPalette, by="ctrl+p")
        palette = chat.app.screen.query_one(OptionList)
        await chat.until(lambda: palette.option_count == len(SLASH_COMMANDS))
        shown = [str(option.prompt) for option in palette.options]
        for command in SLASH_COMMANDS:
            assert f"{command.usage}\n{command.summary}" in shown
        await chat.until(lambda: keys_shown(chat) == "Esc Close")
        chat.press_at_once(*"randomness")
        await chat.until(lambda: palette.option_count == 1)
        await chat.has("/temperature ", by="enter")


async def test_at_forty_columns_hints_are_whole_toasts_on_top_the_cursor_seen(open_chat: OpenChat) -> None:
    def cursor_is_seen() -> bool:
        row = chat.area.wrapped_document.location_to_offset(chat.area.cursor_location).y
        return 0 <= row - chat.area.scroll_y < chat.area.size.height

    async with open_chat(size=(80, 24)) as chat:
        chat.area.load_text("word " * 500)
        chat.area.move_cursor((0, 1250))
        await chat.until(cursor_is_seen)
        await chat.pilot.resize_terminal(40, 20)
        await chat.until(lambda: chat.app.size.width == 40)
        await chat.until(cursor_is_seen)
        chat.area.move_cursor(chat.area.document.end)
        await chat.press("ctrl+j")
        await chat.until(lambda: chat.area.text.endswith("\n") and cursor_is_seen())
        chat.app.chat.prompt.attach(Attachment(PASTED, "line\n" * 100))
        await chat.press("ctrl+s")
        await chat.until(lambda: chat.area.text.endswith("line\n") and cursor_is_seen())
        chat.area.clear()
        await chat.shows("pairs")
        await chat.shows("/ for commands, F1 for help")
        toasts = ToastRack()  # under a pilot Textual has none of its own
        await chat.app.chat.mount(toasts)
        await chat.until(lambda: toasts.styles.dock == "top")
        await chat.pilot.resize_terminal(80, 24)
        await chat.shows("Ask something. / for commands, F1 for help")
        await chat.until(lambda: toasts.styles.dock == "top")
        await chat.pilot.resize_terminal(40, 24)
        await chat.ask("hello")
        await chat.shows("editing: Esc leaves it as it was", by="/edit")
        await chat.press("escape")
        await chat.type("slow")
        await chat.type("waits")
        await chat.shows("Ctrl+B sends at once")
        chat.app.chat.prompt.attach(Attachment("one.txt", "text"), Attachment("another.txt", "text"))
        await chat.shows("Backspace without text drops one")


async def test_after_another_chat_was_opened_from_a_message_keys_write_and_ctrl_c_empties_then_leaves(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tui.app.CTRL_C_SECONDS", 60)  # A busy machine takes its time between the two.
    async with open_chat(size=(80, 24)) as chat:
        for key in ("ctrl+n", "f7"):
            await chat.ask("hello")
            await chat.until(lambda: chat.app.chat.transcript.has_focus, by="tab")
            before = chat.app.state.conversation
            await chat.until(lambda before=before: chat.app.state.conversation is not before, by=key)
            await chat.has("e\nh", by=("e", "ctrl+j", "h"))
            chat.area.clear()
        chat.area.load_text("a text\nof two lines")
        await chat.has("", by="ctrl+c")
        await chat.has("a text\nof two lines", by="up")
        await chat.has("", by="ctrl+c")
        assert not chat.app._exit, "other keys came between"
        await chat.until(lambda: not chat.app.is_running, by="ctrl+c")


async def test_keys_work_while_chats_are_imported(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chats.json").write_text("{}")
    begun, goes_on = threading.Event(), threading.Event()

    def import_file(history: History, path: Path) -> tuple[int, int]:
        begun.set()
        goes_on.wait(60)
        return 2, 0

    monkeypatch.setattr("app.chat.saved_chats.import_file", import_file)
    async with open_chat() as opened:
        opened.area.load_text(f"/import {tmp_path / 'chats.json'}")
        opened.press_at_once("enter")
        await opened.until(begun.is_set)
        opened.press_at_once("a")
        await opened.has("a")
        goes_on.set()
        await opened.noticed("2 chats added")
