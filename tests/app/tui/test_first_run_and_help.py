"""What a person is told in the first chat, and what F1 says where."""

from pathlib import Path

import pytest
from textual.command import CommandPalette

from app.tui.first_run import OFFERED, welcome_text
from app.tui.keymap import key_name
from app.tui.last_speeds import last_speeds
from app.tui.screens.help import HelpScreen
from app.tui.screens.line_question import LineQuestionScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.question import QuestionScreen
from app.tui.screens.totals import TotalsScreen
from models.machine import Machine
from tests.app.tui.chat_driver import Chat, OpenChat

MAC = Machine(24_000_000_000, 500_000_000_000, True)


async def test_the_first_chat_explains_the_built_in_pair_and_offers_real_ones_once(
    open_chat: OpenChat,
) -> None:
    async with open_chat(pair="builtin") as chat:
        await chat.until(lambda: any("ships with the program" in notice for notice in chat.notices))
        await chat.pilot.press("h", "i")
        assert chat.app.chat.prompt.area.text == "hi", "nothing stands between the person and the prompt"
    async with open_chat(pair="builtin") as chat:
        await chat.ask("hello")
        assert not any("ships with the program" in notice for notice in chat.notices)


def test_pairs_that_fit_are_offered_with_their_command_and_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    said = welcome_text(MAC)
    assert said.count("/pull ") == OFFERED
    assert "/pull smollm2-1.7b  2.0 GB" in said and "qwen3-32b" not in said
    assert "No real pair fits" in welcome_text(Machine(1_000_000_000, 10**12, True))


async def helped(chat: Chat) -> str:
    await chat.pilot.press("f1")
    await chat.until(lambda: isinstance(chat.app.screen, HelpScreen) and chat.app.screen.is_mounted)
    await chat.pilot.pause()
    shown = chat.app.export_screenshot(simplify=True).replace("&#160;", " ")
    await chat.pilot.press("escape")
    return shown


async def test_help_is_about_the_part_that_has_the_focus(open_chat: OpenChat) -> None:
    async with open_chat(size=(100, 70)) as chat:
        shown = await helped(chat)
        assert "While you write" in shown and "/compare" in shown and "Everywhere" in shown
        await chat.pilot.press("f2")
        await chat.until(lambda: isinstance(chat.app.screen, PairsScreen) and chat.app.screen.is_mounted)
        shown = await helped(chat)
        assert "the small one guesses ahead" in shown and "Go on with the pair" in shown
        assert "/compare" not in shown and "While you write" not in shown


def test_a_letter_is_told_from_the_same_letter_with_shift() -> None:
    assert [key_name(key) for key in ("r", "R", "f5", "ctrl+r")] == ["r", "R", "F5", "Ctrl+R"]


async def test_help_is_there_in_dialogs_and_leaves_them_as_they_were(open_chat: OpenChat) -> None:
    async with open_chat(size=(100, 70)) as chat:
        for dialog, said in (
            (QuestionScreen("Sure?", "Do it", "Leave it"), "Yes"),
            (LineQuestionScreen("The title", "old"), "Leave it as it was"),
            (TotalsScreen([]), "Close this panel"),
            (OwnPairScreen(), "Stop checking and close"),
        ):
            chat.app.push_screen(dialog)
            await chat.until(lambda dialog=dialog: chat.app.screen is dialog and dialog.is_mounted)
            focused = dialog.focused
            shown = await helped(chat)
            assert str(dialog.HELP)[:20] in shown and said in shown and "F1" in shown
            assert "While you write" not in shown and "Ctrl+C" not in shown
            await chat.until(lambda dialog=dialog: chat.app.screen is dialog)
            assert dialog.focused is focused
            await chat.pilot.press("f1")
            await chat.until(lambda: isinstance(chat.app.screen, HelpScreen) and chat.app.screen.is_mounted)
            await chat.pilot.press("f1")
            await chat.until(lambda dialog=dialog: chat.app.screen is dialog)
            await chat.pilot.press("escape")
            await chat.until(lambda: chat.app.screen is chat.app.chat)


async def test_help_is_there_in_the_palette(open_chat: OpenChat) -> None:
    async with open_chat(size=(100, 40)) as chat:
        await chat.pilot.press("ctrl+p")
        await chat.until(lambda: isinstance(chat.app.screen, CommandPalette) and chat.app.screen.is_mounted)
        assert "Enter runs" in await helped(chat)


def test_without_comparisons_no_speed_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    assert last_speeds() == {}
