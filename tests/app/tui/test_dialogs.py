"""What every dialog has in common: it closes once, by Ctrl+C as by Esc; Ctrl+C twice leaves."""

import asyncio
from collections.abc import Callable
from itertools import product
from typing import Any

from textual.binding import Binding
from textual.command import CommandPalette
from textual.screen import ModalScreen
from textual.widgets import Button, Input, OptionList

from app.tui.screens.help import HelpScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.palette import Palette, ThemePalette
from app.tui.screens.question import LineQuestionScreen, QuestionScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.screens.totals import TotalsScreen
from models.pairs.catalogue import find
from tests.app.tui.chat_driver import Chat, OpenChat

DIALOGS: list[Callable[[], ModalScreen[Any]]] = [
    lambda: QuestionScreen("Sure?", "Do it", "Leave it"),
    lambda: LineQuestionScreen("The title", "old"),
    lambda: TotalsScreen([], []),
    lambda: OwnPairScreen(),
    lambda: HelpScreen("", {}, commands=False),
    lambda: Palette(),
    lambda: ThemePalette(),
]


async def test_ctrl_c_closes_a_dialog_as_escape_does_and_leaves_the_prompt_alone(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        chat.app.chat.prompt.area.load_text("not sent yet")
        for make, key in product(DIALOGS, ("escape", "ctrl+c")):
            dialog, given = make(), []
            chat.app.push_screen(dialog, given.append)
            await chat.until(lambda dialog=dialog: chat.app.screen is dialog and dialog.is_mounted)
            await chat.pilot.press(key)
            await chat.until(lambda: chat.app.screen is chat.app.chat)
            assert not any(given), f"{dialog} was answered with {given}"
        assert chat.app.chat.prompt.area.text == "not sent yet"
        assert not chat.app._exit


async def test_the_last_line_has_the_dialogs_own_keys(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        for make in DIALOGS:
            dialog = make()
            chat.app.push_screen(dialog)
            own = [b.description for b in dialog.BINDINGS if isinstance(b, Binding) and b.id] or [" "]
            await chat.until(lambda own=own: any(name in last_line(chat) for name in own))
            await chat.pilot.pause()
            assert "Compare" not in last_line(chat)
            await chat.pilot.press("escape")
            await chat.until(lambda: "Compare" in last_line(chat))


def last_line(chat: Chat) -> str:
    strips = chat.app.screen._compositor.render_strips()
    return strips[-1].text if strips else ""


async def test_ctrl_c_twice_leaves_from_within_a_dialog(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        dialog = TotalsScreen([], [])
        chat.app.push_screen(dialog)
        await chat.until(lambda: chat.app.screen is dialog and dialog.is_mounted)
        await chat.pilot.press("ctrl+c")
        await chat.until(lambda: any("again to leave" in one.message for one in chat.app._notifications))
        await chat.pilot.press("ctrl+c")
        await chat.until(lambda: chat.app._exit)


async def test_ctrl_c_copies_what_is_chosen_in_a_dialogs_line_and_leaves_it_open(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        dialog = LineQuestionScreen("The title", "old title")
        chat.app.push_screen(dialog)
        await chat.until(lambda: chat.app.screen is dialog and dialog.is_mounted)
        dialog.query_one(Input).select_all()
        await chat.pilot.press("ctrl+c")
        await chat.until(lambda: chat.app.clipboard == "old title")
        assert chat.app.screen is dialog


async def test_keys_that_are_read_together_close_a_screen_once(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.ask("hello")
        for key, screen in (("f6", SessionsScreen), ("f2", PairsScreen)):
            await chat.pilot.press(key)
            await chat.until(lambda kind=screen: isinstance(chat.app.screen, kind))
            rows = chat.app.screen.query_one(OptionList)
            await chat.until(lambda rows=rows: rows.has_focus and rows.highlighted is not None)
            if isinstance(chat.app.screen, PairsScreen):
                chat.app.screen.show_list("builtin")
            chat.press_at_once("enter", "enter", "enter")
            await chat.until(lambda: chat.app.screen is chat.app.chat)
            await chat.pilot.pause(0.1)
        assert chat.app.link.pair.name == "builtin"
        await chat.ask("hello")


async def test_a_question_for_a_line_stands_in_the_middle_and_says_its_keys(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24)) as chat:
        await chat.ask("hello")
        await chat.pilot.press("f6")
        await chat.until(lambda: isinstance(chat.app.screen, SessionsScreen))
        rows = chat.app.screen.query_one(OptionList)
        await chat.until(lambda: rows.highlighted is not None)
        await chat.pilot.press("r")
        await chat.until(lambda: isinstance(chat.app.screen, LineQuestionScreen))
        box = chat.app.screen.query_one("#question").region
        assert box.x == 80 - box.right and abs(24 - box.bottom - box.y) <= 1
        await chat.until(lambda: "Enter takes it, Esc leaves it as it was." in chat.screen)


async def test_a_button_pressed_twice_answers_once(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        dialog, given = QuestionScreen("Sure?", "Do it", "Leave it"), []
        chat.app.push_screen(dialog, given.append)
        await chat.until(lambda: chat.app.screen is dialog and dialog.is_mounted)
        for _ in range(3):
            dialog.post_message(Button.Pressed(dialog.query_one("#yes", Button)))
        await chat.until(lambda: chat.app.screen is chat.app.chat)
        await chat.until(lambda: bool(given))
        await chat.pilot.pause(0.1)
        assert given == [True]


async def test_a_command_chosen_twice_in_one_read_runs_once(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.pilot.press("ctrl+p")
        await chat.until(lambda: isinstance(chat.app.screen, CommandPalette) and chat.app.screen.is_mounted)
        await chat.pilot.press(*"/log")
        rows = chat.app.screen.query_one(OptionList)
        await chat.until(lambda: "/log" in str(rows.options[0].prompt) if rows.options else False)
        await chat.pilot.press("down")
        chat.press_at_once("enter", "enter", "enter", "enter")
        await chat.until(lambda: chat.app.screen is chat.app.chat and bool(chat.notices))
        await chat.pilot.pause(0.1)
        assert len(chat.notices) == 1 and "engine.log" in chat.notices[0]


async def test_a_dialog_that_is_done_while_its_help_is_read_closes_with_it(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        dialog, given = OwnPairScreen(), []
        chat.app.push_screen(dialog, given.append)
        await chat.until(lambda: chat.app.screen is dialog and dialog.is_mounted)
        await chat.pilot.press("f1")
        await chat.until(lambda: isinstance(chat.app.screen, HelpScreen))
        dialog.dismiss(find("builtin"))
        await chat.until(lambda: given == [find("builtin")])
        assert chat.app.screen is chat.app.chat


async def test_what_a_thread_finds_out_for_a_screen_that_was_closed_is_dropped(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        screen, shown = OwnPairScreen(), []
        chat.app.push_screen(screen)
        await chat.until(lambda: chat.app.screen is screen and screen.is_mounted)
        await asyncio.to_thread(screen.from_thread, shown.append, "before")
        await chat.pilot.press("escape")
        await chat.until(lambda: not screen.is_running)
        await asyncio.to_thread(screen.from_thread, shown.append, "after")
        assert shown == ["before"] and chat.app.screen is chat.app.chat
