"""What every dialog has in common: Ctrl+C closes it as Esc does, and pressed twice it leaves."""

from collections.abc import Callable
from typing import Any

import pytest
from textual.command import CommandPalette
from textual.screen import ModalScreen
from textual.widgets import Input

from app.tui.screens.help import HelpScreen
from app.tui.screens.line_question import LineQuestionScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.question import QuestionScreen
from app.tui.screens.totals import TotalsScreen
from tests.app.tui.chat_driver import OpenChat

DIALOGS: list[Callable[[], ModalScreen[Any]]] = [
    lambda: QuestionScreen("Sure?", "Do it", "Leave it"),
    lambda: LineQuestionScreen("The title", "old"),
    lambda: TotalsScreen([]),
    lambda: OwnPairScreen(),
    lambda: HelpScreen("", {}, commands=False),
    lambda: CommandPalette(),
]


@pytest.mark.parametrize("keys", [["escape"], ["ctrl+c"]])
async def test_ctrl_c_closes_a_dialog_as_escape_does_and_leaves_the_prompt_alone(
    open_chat: OpenChat, keys: list[str]
) -> None:
    async with open_chat() as chat:
        chat.app.chat.prompt.area.load_text("not sent yet")
        for make in DIALOGS:
            dialog, given = make(), []
            chat.app.push_screen(dialog, given.append)
            await chat.until(lambda dialog=dialog: chat.app.screen is dialog and dialog.is_mounted)
            await chat.pilot.press(*keys)
            await chat.until(lambda: chat.app.screen is chat.app.chat)
            assert not any(given), f"{dialog} was answered with {given}"
        assert chat.app.chat.prompt.area.text == "not sent yet"
        assert not chat.app._exit


async def test_ctrl_c_twice_leaves_from_within_a_dialog(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        dialog = TotalsScreen([])
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
