"""Toasts: how long they stay, and what removes them."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from textual.notifications import SeverityLevel

from app.engine.protocol import TuningEnded
from app.history.store import History
from app.tui.app import ChatApp
from app.tui.screens.first_run import FirstRunScreen
from app.tui.screens.inspector import InspectorScreen
from app.tui.screens.notices import NoticesScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.question import QuestionScreen
from app.tui.widgets.notices import (
    CHARACTERS_A_SECOND,
    SECONDS,
    TOAST,
    Notices,
    ToastNotification,
    shortened,
    show_toast,
)
from tests.app.history.some_chat import chat, prompt
from tests.app.tui.chat_driver import OpenChat


async def test_a_toast_about_a_typing_mistake_goes_when_it_is_read_and_with_the_next_prompt(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []

    def watched(app: ChatApp, text: str, lasts: float, severity: SeverityLevel) -> None:
        seconds.append(lasts)
        show_toast(app, text, lasts, severity)

    monkeypatch.setattr("app.tui.widgets.notices.show_toast", watched)
    async with open_chat((80, 24), toasts=True) as chat:
        await chat.shows("There is no command /nonsense.", by="/nonsense")
        await chat.type("/nothing")
        await chat.until(lambda: "There is no command /nothing." in chat.screen.splitlines()[1])
        assert seconds[-1] < 10
        await chat.ask("hello")
        assert "/nothing" not in chat.screen
        await chat.type("fail")
        await chat.shows("ValueError at")
        assert seconds[-1] > 20
        await chat.ask("hello")
        assert "ValueError at" in chat.screen, "an error stays until it was read"
        await chat.type("fail")
        await chat.until(lambda: sum("ValueError at" in one for one in chat.notices) == 2)
        await chat.pilot.pause()
        assert chat.screen.count("ValueError at") == 1


async def test_no_toast_but_a_warning_lies_over_the_screen_that_is_opened_next(open_chat: OpenChat) -> None:
    async with open_chat((40, 12), toasts=True, asked="hello") as chat:
        await chat.shows("The engine's log", by="/log")
        await chat.reached(InspectorScreen, by="f8")
        await chat.shows("Answer 1 of 1")
        assert "The engine's log" not in chat.screen
        await chat.back_in_chat(by="escape")
        chat.app.chat.view.note("A warning.", "warning")
        await chat.shows("A warning.")
        await chat.reached(PairsScreen, by="f2")
        await chat.pilot.pause()
        assert "A warning." in chat.screen


async def test_no_toast_lies_over_the_list_of_notices(open_chat: OpenChat) -> None:
    async with open_chat((80, 24), toasts=True) as chat:
        chat.app.chat.view.note("The disk is full. " * 5, "error")
        await chat.shows("The disk is full.")
        await chat.reached(NoticesScreen, by="/notices")
        await chat.until(lambda: not [*chat.app._notifications])
        await chat.shows("The disk is full.")


async def test_in_a_low_terminal_the_last_of_two_toasts_at_the_start_is_shown_alone(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text("theme = 'none'\n")
    async with open_chat((40, 12), toasts=True, is_kept=False) as chat:
        await chat.noticed("This chat is temporary", 'theme is "none"')
        await chat.until(lambda: "Its default is used." in chat.screen and "is temporary:" not in chat.screen)


async def test_in_a_low_terminal_it_is_seen_that_chats_which_cannot_be_saved_are_kept_in_memory(
    open_chat: OpenChat, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home := tmp_path / "home-of-a-user" / ".local" / "share" / "mlx-spec" / "history.db").mkdir(parents=True)
    monkeypatch.setenv("MLX_SPEC_HOME", str(home.parent))
    async with open_chat((40, 12), toasts=True) as chat:
        await chat.until(lambda: "go on in memory" in " ".join(chat.screen.replace("▌", "").split()))


async def test_a_question_over_a_list_shows_no_toast_a_second_time(open_chat: OpenChat) -> None:
    async with open_chat((80, 24), toasts=True) as chat:
        chat.app.chat.view.note("A warning.", "warning")
        await chat.reached(PairsScreen, by="f2")
        await chat.shows("A warning.")
        question = await chat.push(QuestionScreen("Download it?", "Download", "Not now"))
        # The list, which is drawn around the question, shows its own.
        await chat.until(lambda: [toast.display for toast in question.query("Toast")] == [False])
        await chat.shows("A warning.", by="escape")


async def test_what_was_said_about_a_chat_does_not_lie_over_another(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    history = History(tmp_path / "history.db")
    history.save([chat("c1", leaf="p1")], [prompt("p1", "one")])
    history.close()
    async with open_chat((80, 24), toasts=True) as opened:
        opened.app.chat.view.note("A download waits.")
        await opened.press("ctrl+n")
        await opened.shows("A download waits.")
        await opened.press("f7")
        await opened.shows("The last prompt was not answered.")
        await opened.until(lambda: not opened.prompts, by="ctrl+n")
        await opened.pilot.pause()
        assert "not answered" not in opened.screen
        await opened.press("f7")
        opened.app.chat.view.note("The disk is full.", "error")
        await opened.until(lambda: not opened.prompts, by="ctrl+n")
        await opened.pilot.pause()
        assert "The disk is full." in opened.screen


def test_a_long_notice_keeps_its_ends_and_stays_as_long_as_what_it_shows_takes_to_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shortened("abcdef", 6) == "abcdef" and shortened("abcdefg", 4) == "ab … 3 characters … fg"
    shown: list[float] = []
    monkeypatch.setattr("app.tui.widgets.notices.show_toast", lambda _, text, lasts, *__: shown.append(lasts))
    Notices().add(Mock(_notifications=[]), "word " * 1000)
    assert shown == [SECONDS["info"] + TOAST / CHARACTERS_A_SECOND]


def test_a_toast_whose_time_ends_as_it_is_shown_is_not_waited_for_for_ever() -> None:
    late = ToastNotification("text", timeout=-1e-4)
    assert late.has_expired and late.time_left > 0


async def test_no_toast_about_measuring_lies_over_what_the_first_start_explains(open_chat: OpenChat) -> None:
    async with open_chat((80, 24), pair="builtin", welcomes=True, toasts=True) as chat:
        await chat.reached(FirstRunScreen)
        chat.app.chat.take_pair_event(TuningEnded(skipped=False))
        await chat.noticed("Measured what drafting costs here")
        await chat.pilot.pause(0.2)
        assert "Measured" not in chat.screen
        await chat.back_in_chat(by="escape")
        chat.app.chat.take_pair_event(TuningEnded(skipped=True))
        await chat.shows("Measuring was skipped")


@pytest.mark.parametrize(
    ("size", "words", "least"), [((80, 24), 0, 2), ((80, 24), 8, 3), ((80, 24), 17, 4), ((40, 12), 3, 5)]
)
async def test_of_many_toasts_the_newest_is_in_view_whole_and_none_lies_over_the_prompt(
    size: tuple[int, int], words: int, least: int, open_chat: OpenChat
) -> None:
    async with open_chat(size, toasts=True) as chat:
        for number in range(6):
            chat.app.chat.view.note(f"Begin {number} {'went wrong ' * words}end {number}", "error")
        await chat.shows("Begin 5", "end 5", "/ for commands")
        await chat.pilot.pause()
        shown = [number for number in range(6) if f"end {number}" in chat.screen]
        assert shown == list(range(least, 6))
        chat.app.chat.view.note("A mistake.", "mistake")
        await chat.shows("A mistake.")


async def test_the_newer_of_two_toasts_at_once_stands_alone_also_beside_a_warning(
    open_chat: OpenChat,
) -> None:
    async with open_chat(toasts=True) as chat:
        for others in ([], ["A warning."]):
            for text in others:
                chat.app.chat.view.note(text, "warning")
            chat.press_at_once("f4", "f4")
            await chat.noticed("Drafting is off", "Drafting is on")
            await chat.pilot.pause()
            toasts = [toast.message for toast in chat.app._notifications]
            assert toasts == [*others, "Drafting is on for the next answer."]
            await chat.shows(*toasts)
            chat.app.chat.view.notices.kept.clear()
