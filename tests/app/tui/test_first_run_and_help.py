"""What the first chat explains, and what F1 shows where."""

import io
import threading
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.command import CommandPalette
from textual.events import Paste
from textual.widgets import OptionList, Static

from app.cli import main
from app.tui.keys.in_force import Keys
from app.tui.screens.first_run import SUGGESTED, FirstRunScreen, about_suggestions, suggestions
from app.tui.screens.help import HelpScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.question import LineQuestionScreen, QuestionScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.screens.totals import TotalsScreen
from models.pairs.catalogue import all_pairs, find
from models.speed.chips import find_chip
from models.speed.machine import Machine
from tests.app.tui.chat_driver import Chat, OpenChat, keys_shown


class Teletype(io.StringIO):
    def isatty(self) -> bool:
        return True


MAC = Machine(24_000_000_000, 500_000_000_000, True)


def advice(chat: Chat) -> str:
    return str(chat.app.screen.query_one("#suggestions", Static).content)


async def test_the_first_start_explains_the_built_in_pair_is_seen_once_and_what_is_typed_is_the_first_prompt(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(pair="builtin", welcomes=True) as chat:
        await chat.reached(FirstRunScreen)
        await chat.until(lambda: "models may use" in advice(chat))
        shown = " ".join(str(one.content) for one in chat.app.screen.query(Static))
        assert "ships with the program" in shown and "/welcome shows this again" in shown
        await chat.back_in_chat(by="enter")
        assert chat.app.link.pair.name == "builtin"
        await chat.ask("hello")
    async with open_chat(pair="builtin", welcomes=True, asked="hello") as chat:
        assert chat.app.screen is chat.app.chat
        await chat.reached(FirstRunScreen, by="/welcome")
        text = "tell me about lookup"
        chat.press_at_once(*("space" if letter == " " else letter for letter in text))
        await chat.until(lambda: len(chat.area.text) >= len(text))
        assert chat.app.screen is chat.app.chat and chat.area.text == text
        looked = threading.Event()
        monkeypatch.setattr("app.tui.screens.first_run.this_machine", lambda: looked.wait(20) and MAC)
        chat.area.clear()
        chat.app.runner.welcome()
        await chat.reached(FirstRunScreen)
        await chat.press("H", "i", "question_mark")
        assert chat.app.screen is chat.app.chat and chat.area.text == "Hi?"
        looked.set()
        chat.area.clear()
        chat.app.runner.welcome()
        await chat.reached(FirstRunScreen)
        chat.app.post_message(Paste("a\nb"))
        await chat.until(lambda: chat.area.text == "a\nb")
        chat.app.runner.welcome()
        await chat.reached(FirstRunScreen)
        chat.app.post_message(Paste("line\n" * 3000))
        await chat.shows("▤ 3,000 lines pasted")
        assert chat.area.text == "a\nb"


@pytest.mark.parametrize("arguments", [["builtin"], ["--resume", "last"], ["--target", "a/b"]])
def test_naming_a_pair_or_a_chat_skips_the_welcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    asked: list[bool] = []
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdin", Teletype())
    monkeypatch.setattr("sys.stdout", Teletype())
    monkeypatch.setattr("app.commands.chat.saved_chat", lambda name: name)
    monkeypatch.setattr("app.commands.arguments.PairArguments.chosen", lambda _: find("builtin").spec)
    monkeypatch.setattr("app.tui.run.run_chat", lambda *_, welcomes, **__: asked.append(welcomes) or 0)
    for given in ([], arguments):
        main(["chat", *given])
    assert asked == [True, False]


async def test_a_real_pair_is_offered_with_size_and_speed_and_opens_where_it_is_downloaded(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("app.tui.screens.first_run.this_machine", lambda: MAC)
    async with open_chat(size=(80, 24), pair="builtin", welcomes=True) as chat:
        for columns, chip in ((80, "M4 Pro"), (40, None), (40, "M4 Pro")):
            found = find_chip(chip) if chip else None
            monkeypatch.setattr("app.tui.screens.first_run.this_chip", lambda found=found: found)
            await chat.back_in_chat(by="escape")
            await chat.pilot.resize_terminal(columns, 24 if columns == 80 else 20)
            chat.app.runner.welcome()
            screen = await chat.reached(FirstRunScreen)
            await chat.until(lambda: "models may use" in advice(chat))
            await chat.pilot.pause()
            options = screen.query_one(OptionList)
            assert options.option_count == 1 + SUGGESTED and options.region.right <= columns
            assert screen.query_one("#welcome").max_scroll_y == 0, "all of it is on the screen"
            rows = [str(option.prompt) for option in options.options]
            assert "smollm2-135m" in rows[1] and "92.9 MB" in rows[1]
            assert ("tok/s" in rows[1]) is ("not measured" in advice(chat)) is (chip is not None)
            if columns == 80:
                assert " to " in rows[2] and "tok/s drafted" in rows[2]
            else:
                assert max(map(cell_len, rows)) <= options.content_size.width, "each row is whole"
        pairs = await chat.reached(PairsScreen, by=("down", "enter"))
        await chat.until(lambda: pairs.chosen is not None and pairs.chosen.name == "smollm2-135m")


@pytest.mark.parametrize("size", [(40, 12), (80, 12), (80, 18)])
async def test_in_a_low_terminal_the_welcome_opens_at_its_first_line_with_all_pairs_in_view(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: tuple[int, int]
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("app.tui.screens.first_run.this_machine", lambda: MAC)
    monkeypatch.setattr("app.tui.screens.first_run.this_chip", lambda: find_chip("M4 Pro"))
    async with open_chat(size=size, pair="builtin", welcomes=True) as chat:
        await chat.reached(FirstRunScreen)
        await chat.until(lambda: "models may use" in advice(chat))
        await chat.pilot.pause(0.1)
        offered = [facts.pair.name for facts in suggestions(MAC, find_chip("M4 Pro"))]
        await chat.shows("The built-in pair ships with", *offered)


async def test_all_of_the_welcome_can_be_read_with_keys_in_a_low_terminal(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 12), pair="builtin", welcomes=True) as chat:
        await chat.reached(FirstRunScreen)
        await chat.until(lambda: "models may use" in advice(chat) and "PgDn More" in keys_shown(chat))
        await chat.until(lambda: "first prompt." not in chat.screen)  # once all of the advice is laid out
        for said in ("first prompt. /welcome", "The built-in pair ships with"):
            while " ".join(said.split()) not in " ".join(chat.screen.split()):
                await chat.press("pagedown")
                await chat.pilot.pause()


def test_where_nothing_fits_or_nothing_is_predicted_that_is_said() -> None:
    small = Machine(400_000_000, 10**12, True)
    assert suggestions(small, None) == [] and "No real pair fits" in about_suggestions(small, [])
    found = suggestions(MAC, None)
    assert [one.expected for one in found] == [None] * SUGGESTED
    assert "No speed is predicted" in about_suggestions(MAC, found)
    assert "qwen3-32b" not in {one.pair.name for one in found}


def test_what_offered_pairs_are_good_for_fits_eighty_columns() -> None:
    assert max(len(pair.good_for) for pair in all_pairs() if pair.download_bytes and not pair.own) <= 70


async def helped(chat: Chat, close: str = "escape") -> str:
    await chat.reached(HelpScreen, by="f1")
    await chat.shows("Esc closes this help.")
    shown = chat.screen
    await chat.press(close)
    return shown


async def test_help_is_about_the_part_that_has_the_focus_and_leaves_it_as_it_was(open_chat: OpenChat) -> None:
    async with open_chat(size=(100, 160)) as chat:
        shown = await helped(chat)
        for text in ("While you write", "/compare", "/draft on|off", "Everywhere", "F4", "Ctrl+Q",
                     "Empty the prompt; twice: leave", "earlier prompts", "word for word"):  # fmt: skip
            assert text in shown, text
        assert "While an answer grows" not in shown and "F3 marks the tokens" in shown, (
            "marks are off by default"
        )
        meanings = ("Send the prompt", "Begin a new chat", "The message after", "Leave", "Longest answer")
        lines = [(line, text) for line in shown.splitlines() for text in meanings if f"  {text}" in line]
        assert len({line.index(text) for line, text in lines}) == 1
        await chat.pilot.resize_terminal(100, 45)
        await chat.reached(PairsScreen, by="f2")
        shown = await helped(chat)
        assert "the small one guesses ahead" in shown and "Resume the pair" in shown
        assert "/compare" not in shown and "While you write" not in shown
        assert "Twice: leave" in shown and "Empty the prompt" not in shown
        await chat.back_in_chat(by="escape")
        for dialog, text in (
            (LineQuestionScreen("The title", "old"), "Leave it as it was"),
            (OwnPairScreen(), "Stop checking and close"),
        ):
            focused = (await chat.push(dialog)).focused
            shown = await helped(chat, close="f1")
            assert Keys({}).fill_in(str(dialog.HELP))[:20] in shown and text in shown and "F1" in shown
            assert "While you write" not in shown and "Close this; twice: leave" in shown
            await chat.until(lambda dialog=dialog: chat.app.screen is dialog)
            assert dialog.focused is focused
            await chat.back_in_chat(by="escape")
        assert QuestionScreen.HELP and TotalsScreen.HELP
        await chat.reached(CommandPalette, by="ctrl+p")
        assert "Enter takes it" in await helped(chat)


async def test_help_names_each_key_once_though_the_key_line_has_two_words_for_it(open_chat: OpenChat) -> None:
    async with open_chat(size=(100, 45)) as chat:
        await chat.reached(SessionsScreen, by="f6")
        shown = await helped(chat)
        assert shown.count("into the archive") == shown.count("Show the archived chats") == 1
