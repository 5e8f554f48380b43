"""Small terminals, where the typed text and the chosen item stay in view; and wide ones."""

from dataclasses import replace

import pytest
from textual._compositor import Compositor
from textual.events import Resize
from textual.widgets import Input, OptionList

from app.chat.engine_link import STARTS_AGAIN
from app.chat.pull_queue import PullJob
from app.engine.events import Piece
from app.tui.screens.compare import CompareScreen
from app.tui.screens.comparisons import ComparisonsScreen
from app.tui.screens.inspector import InspectorScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.question import LineQuestionScreen, QuestionScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.widgets.key_line import KeyLine
from models.pairs.pair import PairSpec, Source
from models.paths import data_folder
from tests.app.tui.chat_driver import Chat, OpenChat, keys_shown
from tests.app.tui.test_compare import compared

LONG = "a prompt whose beginning is the title of a chat and long enough for two lines"


def is_whole(chat: Chat) -> bool:
    """Whether nothing of the top screen is pushed off its end."""
    return chat.app.screen.query_one(KeyLine).region.bottom == 10 and chat.app.screen.max_scroll_y == 0


def has_rows(chat: Chat) -> bool:
    """Whether at least two items of the top screen's list are in view."""
    return chat.app.screen.query_one(OptionList).content_size.height >= 2 and is_whole(chat)


def list_width(chat: Chat) -> int:
    return chat.app.screen.query_one(OptionList).region.width


async def test_in_ten_rows_the_prompt_and_every_list_can_be_used(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 10)) as chat:
        press = chat.press
        await press("slash", "t", "e")
        await chat.shows("/te", "likeliest")
        await press("backspace", "backspace")
        await chat.until(lambda: chat.app.chat.prompt.query_one(OptionList).option_count > 9)
        assert is_whole(chat) and chat.area.region.bottom == 8
        chat.area.clear()
        await press(*["ctrl+j"] * 9, "x")
        await chat.until(lambda: "x" in chat.area.text)
        await chat.pilot.pause()
        assert is_whole(chat)
        chat.area.clear()
        await press("f2")
        await chat.reached(PairsScreen)
        await chat.until(lambda: has_rows(chat))
        await press("slash", *"fits")
        await chat.until(lambda: chat.app.screen.query_one(Input).display and has_rows(chat))
        await press("escape", "escape")
        await chat.ask(LONG)
        await press("f8")
        await chat.reached(InspectorScreen)
        await chat.until(lambda: has_rows(chat))
        await press("escape", "f5")
        await chat.shows("2.00x faster")
        assert is_whole(chat)
        await press("escape")
        await chat.reached(ComparisonsScreen, by="/comparisons")
        await chat.until(lambda: has_rows(chat))
        await press("escape", "f6")
        screen = await chat.reached(SessionsScreen)
        await chat.until(lambda: bool(screen.rows))
        await press("d")
        await chat.until(lambda: "Deleted" in chat.screen and has_rows(chat))


async def test_in_five_rows_a_chat_and_a_comparison_can_be_chosen(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 10), asked="hello") as chat:
        await chat.shows("2.00x faster", by="f5")
        await chat.press("escape")
        await chat.pilot.resize_terminal(20, 5)
        await chat.reached(ComparisonsScreen, by="/comparisons")
        await chat.until(lambda: chat.app.screen.query_one(OptionList).content_size.height == 1)
        await chat.reached(SessionsScreen, by=("escape", "f6"))
        await chat.until(lambda: "hello" in chat.screen)


async def test_in_twelve_rows_the_list_of_comparisons_has_the_whole_verdict(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 12), asked=f"echo {LONG} " * 9) as chat:
        await chat.until(lambda: bool(chat.app.screen.query("LengthPlot")), by="/sweep length=1-2 repeats=2")
        await chat.press("escape")
        await chat.reached(ComparisonsScreen, by="/comparisons")
        await chat.shows("Best: auto, 1 token", "Worst:", "identical.", "3 settings,")
        await chat.until(lambda: chat.app.screen.query_one(OptionList).content_size.height >= 2)


async def test_in_twelve_rows_a_comparison_says_why_it_was_broken_off(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 12), asked="hello") as chat:
        _, record = await compared(chat)
        reason = "after 4 of 6 runs: The engine process was ended by SIGKILL."
        await chat.push(CompareScreen(record=replace(record, broken_off=reason)))
        await chat.shows("2.00x faster", "SIGKILL.")


async def test_in_twelve_rows_a_message_of_a_screen_ends_with_its_reason(open_chat: OpenChat) -> None:
    path = "/Users/somebody/Library/Application Support/mlx-spec/history.db"
    async with open_chat(size=(40, 12), asked="hello") as chat:
        screen = await chat.reached(SessionsScreen, by="f6")
        screen.show_message(f"The chat history {path} cannot be used: database or disk is full.")
        await chat.shows("The chat history", "is full.", "hello")


async def test_in_twelve_rows_what_is_wrong_with_a_pair_of_ones_own_is_in_view_to_its_end(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(40, 12)) as chat:
        await chat.reached(PairsScreen, by="f2")
        screen = await chat.reached(OwnPairScreen, by="a")
        await chat.until(lambda: screen.query_one("#own-target").has_focus)
        screen.show_message(
            f"✗ The tokenizer in /Users/somebody/{'folder/' * 12} cannot be read. Pull again."
        )
        await chat.shows("Pull again.", "│  same family, or none")


async def test_in_twelve_rows_a_download_that_failed_says_which_key_tries_again_and_why_it_failed(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_chat(size=(40, 12)) as chat:
        screen = await chat.reached(PairsScreen, by="f2")
        job = PullJob(PairSpec("smollm3-3b", Source("some/model"), None))
        job.state, job.error = "failed", "No connection to https://huggingface.co. Check the network."
        monkeypatch.setattr(chat.app.pulls, "not_here", lambda *_: [job])
        screen.show_downloads()
        await chat.shows("r tries again.", "https://huggingface.co.")
        assert chat.app.screen.query_one(OptionList).content_size.height >= 2


async def test_in_twelve_rows_a_list_without_readable_comparisons_says_so(open_chat: OpenChat) -> None:
    folder = data_folder() / "comparisons"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "20260101-000000-000.json").write_text("{")
    async with open_chat(size=(40, 12)) as chat:
        await chat.reached(ComparisonsScreen, by="/comparisons")
        await chat.shows("1 file", "cannot be read")


async def test_in_five_rows_a_command_and_a_theme_can_be_chosen(open_chat: OpenChat) -> None:
    async with open_chat(size=(20, 5)) as chat:
        await chat.shows("/help", by="ctrl+p")
        await chat.press("escape")
        await chat.shows("mlx-spec-light", by="/theme")


async def test_in_seven_columns_the_menu_opens(open_chat: OpenChat) -> None:
    async with open_chat(size=(7, 10)) as chat:
        await chat.until(lambda: chat.app.chat.prompt.menu.option_count > 9, by="slash")


async def test_in_twelve_rows_the_menu_names_the_chosen_command_if_what_it_does_takes_all_lines(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(40, 12)) as chat:
        await chat.press("slash", "down", "down")
        await chat.shows("/sweep [length=0-8 drafter=...]", "Compare several settings;")
        await chat.shows("/compare [all|FILE]", by="up")
        await chat.shows("/help", "Keys and commands", by="up")


async def test_in_five_rows_a_title_can_be_written(open_chat: OpenChat) -> None:
    async with open_chat(size=(20, 5), asked="hello") as chat:
        screen = await chat.reached(SessionsScreen, by="f6")
        await chat.until(lambda: bool(screen.rows))
        await chat.reached(LineQuestionScreen, by="r")
        await chat.shows("hello")


async def test_in_ten_rows_rounds_are_in_view_however_long_the_sentence_about_one_is(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tui.screens.inspector.round_sentence", lambda played: "a long sentence " * 20)
    async with open_chat(size=(40, 10), asked="hello") as chat:
        await chat.reached(InspectorScreen, by="f8")
        await chat.shows("a long sentence")
        await chat.pilot.pause()
        assert has_rows(chat)


async def test_in_twelve_rows_the_one_line_above_the_rounds_has_the_text_of_the_chosen_one(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(40, 12), asked="hello") as chat:
        screen = await chat.reached(InspectorScreen, by="f8")
        await chat.until(lambda: screen.chosen is not None)
        before = "a line before that is long\n" * 3
        screen.answer.pieces = [Piece(f"{before}here", "plain")]
        screen.answer.rounds[-1] = replace(screen.answer.rounds[-1], begin=len(before), end=len(before) + 4)
        screen.show_answer()
        await chat.shows("│ here ")


async def test_marks_are_explained_where_there_is_room_and_not_in_a_low_terminal(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 12), asked=LONG) as chat:
        await chat.until(lambda: chat.app.chat.view.marks, by="f3")
        await chat.pilot.pause()
        assert "bonus" not in chat.screen
        await chat.pilot.resize_terminal(40, 24)
        await chat.shows("accepted   bonus   plain")


async def test_in_forty_columns_lists_have_all_of_them(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 24), asked="a title of twenty-two") as chat:
        await chat.reached(SessionsScreen, by="f6")
        await chat.until(lambda: list_width(chat) == 40 and "a title of twenty-two" in chat.screen)
        await chat.reached(PairsScreen, by=("escape", "f2"))
        await chat.press("slash")
        await chat.until(lambda: chat.app.screen.query_one(Input).display and list_width(chat) == 40)
        await chat.reached(OwnPairScreen, by=("escape", "a"))
        await chat.shows("left empty, one that fits")
        await chat.push(LineQuestionScreen("The title", LONG))
        await chat.shows("for two lines")


async def test_a_low_comparison_names_its_prompt_and_its_plot_tells_speeds_apart(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 10), asked="Donaudampfschifffahrtsgesellschaft") as chat:
        await chat.until(lambda: bool(chat.app.screen.query("LengthPlot")), by="/sweep length=1-2 repeats=1")
        await chat.shows("Donau")
        await chat.until(lambda: "PgDn Scroll" in keys_shown(chat))
        await chat.pilot.resize_terminal(40, 17)
        # Plain decoding is half as fast.
        await chat.until(lambda: sum("●" in line for line in chat.screen.splitlines()) > 1)


@pytest.mark.drawn
async def test_wide_terminals_have_lines_of_a_hundred_and_narrow_under_the_help(open_chat: OpenChat) -> None:
    async with open_chat(size=(120, 24)) as chat:
        await chat.press("f1")
        await chat.pilot.resize_terminal(20, 6)
        await chat.back_in_chat(by="escape")
        await chat.pilot.resize_terminal(60, 12)
        await chat.shows("Ask something.")
        await chat.pilot.resize_terminal(200, 24)
        answer = await chat.ask("echo " + "word " * 100)
        await chat.until(lambda: answer.size.height > 5)
        lines = [answer.render_line(y).text.rstrip() for y in range(answer.size.height)]
        assert 95 < max(map(len, lines)) <= 100
        await chat.pilot.resize_terminal(80, 24)
        await chat.until(lambda: chat.app.chat.transcript.size.width < 80)
        width = answer.content_size.width
        assert not chat.app.chat.transcript.show_vertical_scrollbar
        await chat.ask("echo " + "line\n" * 40)
        await chat.until(lambda: chat.app.chat.transcript.vertical_scrollbar.region.width > 0)
        bar = chat.app.chat.transcript.vertical_scrollbar.region
        assert answer.content_size.width == width, "the scrollbar wraps nothing again"
        assert answer.content_region.right == bar.x - 1, "nor does it touch the text"


async def test_in_twelve_rows_a_chat_names_keys_and_toasts_spare_questions(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 12), toasts=True) as chat:
        await chat.shows("F1 help · Enter sends · Ctrl+J newline")
        await chat.ask(LONG)
        await chat.shows("F7 goes on with", "F6 lists all", by="ctrl+n")
        for text in ("hold", "first", "second", "third", "fourth"):
            await chat.type(text)
        await chat.shows("next 1 of 4: first", "next 2 of 4: second")
        await chat.settled(by=("escape", "ctrl+n"))
        died = "The engine process was ended by SIGKILL. It may lack memory: choose a smaller pair"
        chat.app.chat.view.note(f"{died} or close other programs. {STARTS_AGAIN}", "error")
        await chat.shows("SIGKILL", "starts it again.", "/ for commands")
        chat.app.chat.view.note("It went wrong, and this says so. " * 4, "error")
        await chat.shows("It went wrong")
        question = await chat.push(QuestionScreen("May the file be replaced? " * 4, "Replace", "Keep it"))
        await chat.until(lambda: bool(question.query("Toast")))
        await chat.pilot.pause(0.1)
        assert "│  May the file be replaced? May the   │" in chat.screen
        await chat.shows("It went wrong", by="escape")


@pytest.mark.drawn
async def test_all_is_drawn_after_the_terminal_was_small_for_a_moment(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, honest = [], Compositor.render_full_update
    monkeypatch.setattr(
        Compositor, "render_full_update", lambda *given, **named: drawn.append(1) or honest(*given, **named)
    )
    async with open_chat(size=(80, 24), asked="hello") as chat:
        await chat.pilot.pause(0.1)
        drawn.clear()
        chat.app.post_message(Resize(chat.app.size, chat.app.size))
        await chat.until(lambda: bool(drawn))
