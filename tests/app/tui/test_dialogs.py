"""Every dialog closes once, with Ctrl+C as with Esc; Ctrl+C twice leaves the program."""

import asyncio
import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock
from weakref import WeakSet

import pytest
from rich.style import Style
from textual.binding import Binding
from textual.command import CommandPalette
from textual.events import Click
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList

from app.tui.app import ChatApp
from app.tui.screens.help import HelpScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.palette import Palette
from app.tui.screens.question import LineQuestionScreen, QuestionScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.screens.totals import TotalsScreen
from models.pairs.catalogue import find
from tests.app.tui.chat_driver import OpenChat

DIALOGS: list[Callable[[], ModalScreen[Any]]] = [
    lambda: QuestionScreen("Sure?", "Do it", "Leave it"),
    lambda: LineQuestionScreen("The title", "old"),
    lambda: Palette(),
    lambda: TotalsScreen([], []),
    lambda: OwnPairScreen(),
    lambda: HelpScreen("", {}, commands=False),
]


async def test_every_dialog_shows_its_keys_and_closes_by_esc_and_ctrl_c(open_chat: OpenChat) -> None:
    async with open_chat() as chat:

        def last_line() -> str:
            return chat.screen.rpartition("\n")[2]

        chat.area.load_text("not sent yet")
        for key, dialogs in (("escape", DIALOGS), ("ctrl+c", DIALOGS[:3])):
            for make in dialogs:
                dialog, given = make(), []
                chat.app.push_screen(dialog, given.append)
                own = [b.description for b in dialog.BINDINGS if isinstance(b, Binding) and b.id] or [" "]
                await chat.until(lambda own=own: any(name in last_line() for name in own))
                await chat.until(lambda: "Compare" not in last_line())
                await chat.until(lambda: "Chats" in last_line(), by=key)
                assert not any(given), f"{dialog} was answered with {given}"
        assert chat.area.text == "not sent yet" and not chat.app._exit
        title = await chat.push(LineQuestionScreen("The title", "old title"))
        await chat.shows("Enter takes it, Esc leaves it as it was.")
        box = title.query_one("#question").region
        assert box.x == 100 - box.right and abs(30 - box.bottom - box.y) <= 1, "it is in the middle"
        title.query_one(Input).select_all()
        await chat.until(lambda: chat.app.clipboard == "old title", by="ctrl+c")
        assert chat.app.screen is title, "what is chosen is copied"
        await chat.press("escape")
        await chat.push(TotalsScreen([], []))
        await chat.press("ctrl+c")
        await chat.until(lambda: any("again to leave" in one.message for one in chat.app._notifications))
        await chat.exited(by="ctrl+c")


async def test_ctrl_z_returns_to_the_shell_from_every_screen(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped: list[str] = []
    monkeypatch.setattr(
        ChatApp, "action_suspend_process", lambda app: stopped.append(type(app.focused).__name__)
    )
    async with open_chat(asked="hello") as chat:
        await chat.press("ctrl+z", "tab", "ctrl+z", "f2", "ctrl+z", "slash", "ctrl+z")
        await chat.push(QuestionScreen("Sure?", "Do it", "Leave it"))
        await chat.press("ctrl+z", "f1", "ctrl+z")
        await chat.until(lambda: len(stopped) == 6)
    assert stopped == ["PromptArea", "Transcript", "ItemList", "Field", "Button", "VerticalScroll"]


async def test_keys_that_are_read_together_close_a_screen_once_and_answer_once(open_chat: OpenChat) -> None:
    async with open_chat(asked="hello") as chat:
        for key, screen in (("f6", SessionsScreen), ("f2", PairsScreen)):
            await chat.reached(screen, by=key)
            rows = chat.app.screen.query_one(OptionList)
            await chat.until(lambda rows=rows: rows.has_focus and rows.highlighted is not None)
            if isinstance(chat.app.screen, PairsScreen):
                chat.app.screen.show_list("builtin")
            chat.press_at_once("enter", "enter", "enter")
            await chat.back_in_chat()
            await chat.pilot.pause()
        assert chat.app.link.pair.name == "builtin"
        await chat.ask("hello")
        count = len(chat.notices)
        await chat.reached(CommandPalette, by="ctrl+p")
        await chat.press(*"/log")
        rows = chat.app.screen.query_one(OptionList)
        await chat.until(lambda: "/log" in str(rows.options[0].prompt) if rows.options else False)
        await chat.until(lambda: rows.highlighted == 0)
        chat.press_at_once("enter", "enter", "enter", "enter")
        await chat.until(lambda: chat.app.screen is chat.app.chat and len(chat.notices) > count)
        dialog, given = QuestionScreen("Sure?", "Do it", "Leave it"), []
        chat.app.push_screen(dialog, given.append)
        await chat.until(lambda: chat.app.screen is dialog and dialog.is_mounted)
        for _ in range(3):
            dialog.post_message(Button.Pressed(dialog.query_one("#yes", Button)))
        await chat.back_in_chat()
        await chat.until(lambda: bool(given))
        await chat.pilot.pause()
        assert given == [True] and len(chat.notices) == count + 1 and "engine.log" in chat.notices[-1]


async def test_keys_right_behind_the_one_that_opens_a_screen_go_into_no_field_and_press_no_yes(
    open_chat: OpenChat,
) -> None:
    async with open_chat(asked="hello") as chat:
        dialog = QuestionScreen("Sure?", "Do it", "Leave it")
        for screen, place in (
            (SessionsScreen(), "OptionList"),
            (PairsScreen(), "OptionList"),
            (dialog, "#no"),
        ):
            focused = set[Any]()
            chat.app.push_screen(screen)
            while not screen.query(f"{place}:focus") or chat.app.message_queue_size:
                focused |= {screen.focused}
                await asyncio.sleep(0)
            assert focused <= {None, screen.query_one(place)}
            await chat.back_in_chat(by="escape")
        for key, screen in (("f6", SessionsScreen), ("f2", PairsScreen)):
            chat.press_at_once(key, *"xxxxxxxx")
            await chat.reached(screen)
            await chat.pilot.pause()
            assert chat.app.screen.query_one(Input).value == ""
            await chat.back_in_chat(by="escape")


async def test_letters_typed_right_behind_a_key_that_asks_for_a_line_are_in_it(open_chat: OpenChat) -> None:
    async with open_chat(asked="hello") as chat:
        chats = await chat.reached(SessionsScreen, by="f6")
        await chat.until(lambda: chats.chosen is not None)
        chat.press_at_once("r", *" dogs", "enter")
        await chat.until(lambda: chat.app.state.conversation.chat.title == "hello dogs")
        assert not chat.app.saved.deleted
        await chat.back_in_chat(by="escape")
        await chat.reached(PairsScreen, by="f2")
        chat.press_at_once("a", *"model")
        screen = await chat.reached(OwnPairScreen)
        await chat.until(lambda: screen.query_one("#own-target", Input).value == "model")


async def test_enter_right_behind_a_key_that_opens_a_screen_does_not_send_what_is_half_written(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(asked="hello") as chat:
        chat.app.chat.prompt.fill("half")
        opens = Mock(side_effect=chat.app.push_screen)
        monkeypatch.setattr(chat.app, "push_screen", opens)
        for count, key in enumerate(("f2", "f8", "f9", "f1", "f6"), 1):
            chat.press_at_once("x", "backspace", key, "enter")
            await chat.until(lambda count=count: opens.call_count == count)
            await chat.pilot.pause()
            await chat.back_in_chat(by="escape" if chat.app.screen is not chat.app.chat else ())
            assert chat.prompts == ["hello"] and chat.area.text == "half", key


async def test_letters_typed_right_behind_a_command_that_opens_the_chats_do_nothing_to_them(
    open_chat: OpenChat,
) -> None:
    async with open_chat(asked="hello") as chat:
        chat.press_at_once("slash", *"sessions", "enter", "d")
        await chat.reached(SessionsScreen)
        await chat.back_in_chat(by="escape")
        assert chat.area.text == "d" and not chat.app.saved.deleted


async def test_a_palette_that_is_closed_before_it_is_mounted_ends_nothing(open_chat: OpenChat) -> None:
    async with open_chat(asked="hello") as chat:
        chat.app.push_screen(Palette())
        chat.app.pop_screen()
        assert (await chat.ask("and now")).text


async def test_a_closed_palette_does_not_stay_in_memory(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        opened = WeakSet[Palette]()
        for _ in range(2):
            opened.add(await chat.reached(Palette, by="ctrl+p"))
            await chat.back_in_chat(by="escape")
        await chat.until(lambda: gc.collect() >= 0 and not opened)


async def test_a_click_on_a_command_that_is_gone_by_then_ends_nothing(open_chat: OpenChat) -> None:
    async with open_chat(asked="hello") as chat:
        commands = (await chat.reached(Palette, by="ctrl+p")).query_one(OptionList)
        await chat.until(lambda: commands.option_count > 1)
        at = {"x": 1, "y": 1, "delta_x": 0, "delta_y": 0, "button": 1, "shift": False, "meta": False}
        commands.post_message(Click(commands, **at, ctrl=False, style=Style(meta={"option": 1})))
        commands.clear_options()
        await chat.back_in_chat(by="escape")
        assert (await chat.ask("and now")).text


async def test_a_dialog_done_under_its_help_closes_and_the_palette_opens_once(open_chat: OpenChat) -> None:
    async with open_chat(size=(100, 24)) as chat:
        dialog, given, shown = OwnPairScreen(), [], []
        closed, ended = threading.Event(), threading.Event()

        def work() -> None:
            dialog.from_thread(shown.append, "before")
            closed.wait(20)
            try:
                dialog.from_thread(shown.append, "after")
            finally:
                ended.set()

        chat.app.push_screen(dialog, given.append)
        await chat.until(lambda: chat.app.screen is dialog and dialog.is_mounted)
        dialog.run_worker(work, thread=True)
        await chat.until(lambda: shown == ["before"])
        await chat.reached(HelpScreen, by="f1")
        dialog.dismiss(find("builtin"))
        await chat.until(lambda: given == [find("builtin")])
        assert chat.app.screen is chat.app.chat
        await chat.until(lambda: not dialog.is_running)
        closed.set()
        await chat.until(ended.is_set)
        await chat.pilot.pause()
        assert shown == ["before"]
        chat.press_at_once("ctrl+p", "pagedown", "pageup")
        await chat.until(lambda: chat.app.screen is not chat.app.chat)
        await chat.pilot.pause()
        await chat.press("f1", "ctrl+p")
        assert sum(isinstance(screen, Palette) for screen in chat.app.screen_stack) == 1
        await chat.back_in_chat(by=("escape", "escape"))
        with chat.app.batch_update():  # nothing is laid out
            palette = await chat.reached(Palette, by="ctrl+p")
            await chat.until(lambda: palette.query_one(OptionList).highlighted is not None)
            await chat.back_in_chat(by=("pagedown", "escape"))


async def test_a_wrong_theme_is_told_and_a_chosen_one_lasts(open_chat: OpenChat, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("# mine\nmarks = true  # always\ntheme = 'nordd'\n")
    async with open_chat() as chat:
        await chat.noticed("nord?")
        assert chat.app.theme == "mlx-spec"
        await chat.reached(Palette, by="/theme")
        await chat.shows("mlx-spec-light", "ansi-dark")
        rows = [row.strip() for row in chat.screen.splitlines()]
        first = rows.index("mlx-spec")
        assert rows[first + 1 : first + 4] == ["in use", "mlx-spec-light", "ansi-dark"], "our own come first"
        await chat.press(*"gruvbox")
        options = chat.app.screen.query_one(OptionList)
        await chat.until(lambda: options.option_count == 1)
        await chat.until(lambda: chat.app.theme == "gruvbox", by="enter")
        await chat.until(lambda: any("config.toml" in one.message for one in chat.app._notifications))
    assert file.read_text() == '# mine\nmarks = true  # always\ntheme = "gruvbox"\n'
    async with open_chat() as chat:
        assert chat.app.theme == "gruvbox"
        file.write_text("theme = [")
        await chat.type("/theme nordd")
        await chat.noticed("no theme 'nordd'")
        await chat.type("/theme nord")
        await chat.noticed("nord is used until you leave")
    assert file.read_text() == "theme = ["
