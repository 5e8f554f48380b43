"""The comparison screen on a scripted engine: plain rounds take 20 ms there, drafted ones 10 ms."""

from dataclasses import replace

import pytest

from app.events import TurnEnded
from app.tui.comparison import Comparison
from app.tui.screens.compare import CompareScreen
from app.tui.widgets.compare_pane import ComparePane
from mlx_spec.stats import summarise
from mlx_spec.types import Options, Round
from tests.app.tui.chat_driver import OpenChat


async def test_both_runs_fill_their_panes_and_the_verdict_has_ratio_and_sameness(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        answer = await chat.ask("hello")
        await chat.pilot.press("f5")
        await chat.until(lambda: isinstance(chat.app.screen, CompareScreen))
        screen = chat.app.screen
        assert isinstance(screen, CompareScreen)
        await chat.until(lambda: screen.result is not None)
        assert screen.result is not None and screen.result.identical
        assert screen.result.ratio == pytest.approx(2.0)
        assert len(screen.result.plain_runs) == 3
        assert screen.query_one("#plain", ComparePane).text == answer.text
        assert screen.query_one("#drafted", ComparePane).text == answer.text
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.app.chat)
        assert any("2.00 times as fast" in notice and "identical" in notice for notice in chat.notices)
        assert len(chat.app.chat.conversation.turns) == 1


async def test_esc_stops_a_comparison_and_a_second_one_goes_back(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.chat.running and chat.app.chat.running.text))
        await chat.pilot.press("escape")
        await chat.until(lambda: bool(chat.answers))
        await chat.type("/compare")
        await chat.until(lambda: isinstance(chat.app.screen, CompareScreen))
        screen = chat.app.screen
        assert isinstance(screen, CompareScreen)
        await chat.until(lambda: bool(screen.query_one("#plain", ComparePane).text))
        await chat.pilot.press("escape")
        await chat.until(lambda: screen.run is None)
        assert screen.result is None
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.app.chat)
        assert (await chat.ask("hello")).text


async def test_a_comparison_needs_a_prompt_and_a_free_engine(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.pilot.press("f5")
        assert any("no prompt to compare" in notice for notice in chat.notices)
        await chat.type("slow")
        await chat.pilot.press("f5")
        assert any("being written" in notice for notice in chat.notices)
        assert chat.app.screen is chat.app.chat


@pytest.mark.parametrize(("width", "stacked"), [(120, False), (60, True)])
async def test_panes_stand_side_by_side_or_stacked(open_chat: OpenChat, width: int, stacked: bool) -> None:
    async with open_chat(size=(width, 30)) as chat:
        await chat.ask("hello")
        await chat.pilot.press("f5")
        await chat.until(lambda: isinstance(chat.app.screen, CompareScreen))
        await chat.pilot.pause()
        plain, drafted = (
            chat.app.screen.query_one(name, ComparePane).region for name in ("#plain", "#drafted")
        )
        assert (plain.x == drafted.x) is stacked


async def test_leaving_a_comparison_by_another_key_frees_the_engine(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.chat.running and chat.app.chat.running.text))
        await chat.pilot.press("escape")
        await chat.until(lambda: bool(chat.answers))
        await chat.pilot.press("f5")
        await chat.until(lambda: isinstance(chat.app.screen, CompareScreen))
        await chat.until(lambda: bool(chat.app.screen.query_one("#plain", ComparePane).text))
        chat.app.return_to_chat()
        assert (await chat.ask("hello")).text


def run(seconds: float, tokens: tuple[int, ...] = (1, 2, 3)) -> TurnEnded:
    rounds = [Round((), 0, (token,), "none", seconds) for token in tokens]
    return TurnEnded("", tokens, "stop", 0, summarise(rounds))


@pytest.mark.parametrize(
    ("plain", "drafted", "words"),
    [(0.02, 0.01, "2.00 times as fast"), (0.01, 0.0101, "no gain"), (0.01, 0.02, "slower (0.50 times)")],
)
def test_the_verdict_says_faster_no_gain_or_slower(plain: float, drafted: float, words: str) -> None:
    assert words in Comparison((run(plain),), (run(drafted),), Options()).speed()


def test_the_ratio_is_that_of_the_medians_and_the_sentence_says_how_many_runs() -> None:
    plain = tuple(run(seconds) for seconds in (0.02, 0.05, 0.019))
    drafted = tuple(run(seconds) for seconds in (0.01, 0.01, 0.03))
    both = Comparison(plain, drafted, Options())
    assert both.ratio == pytest.approx(2.0)
    assert "median of 3 runs each" in both.summary()


def test_different_texts_are_told_with_the_place_or_the_reason() -> None:
    pair = Comparison((run(0.01),), (run(0.01, (1, 5, 3)),), Options())
    assert "differ from token 2 on" in pair.sameness()
    sampled = replace(pair, options=Options(temperature=1.0, verify="token"))
    assert "as they may" in sampled.sameness()
