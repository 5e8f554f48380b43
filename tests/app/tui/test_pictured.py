"""A few screens as pictures. `make pictures` accepts what is drawn now."""

import os
import signal
from datetime import datetime, tzinfo
from pathlib import Path

import pytest

from app.tui.screens.compare import CompareScreen
from app.tui.screens.first_run import FirstRunScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.widgets.item_line import ItemLine
from models.speed.chips import find_chip
from models.speed.machine import Machine
from tests.app.scripted_engine import HELD
from tests.app.tui.chat_driver import Chat, OpenChat
from tests.app.tui.pictured import check_picture

SIZE = (80, 24)
NARROW = (40, 24)
ALL_HELD = "".join(first + second for first, second in HELD)
MACHINE = Machine(36_000_000_000, 500_000_000_000, True)


class Fixed(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Fixed":
        return cls(2026, 11, 21, 12, 0, 0, tzinfo=tz)


@pytest.fixture(autouse=True)
def _the_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed clock, machine and colours."""
    monkeypatch.setattr("app.compare.collector.datetime", Fixed)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for name in ("TEXTUAL_THEME", "TEXTUAL_COLOR_SYSTEM"):
        monkeypatch.delenv(name, raising=False)
    for screen in ("first_run", "pairs"):
        monkeypatch.setattr(f"app.tui.screens.{screen}.this_machine", lambda: MACHINE)
        monkeypatch.setattr(f"app.tui.screens.{screen}.this_chip", lambda: find_chip("M4 Pro"))


async def streaming(chat: Chat) -> None:
    """Wait for an answer that shows its whole text and does not end."""
    await chat.until(lambda: chat.app.link.state == "ready")
    await chat.stream("hold")
    await chat.until(lambda: bool(chat.app.state.running and chat.app.state.running.log.text == ALL_HELD))
    await gauges_show(chat, "33 tok/s")


async def gauges_show(chat: Chat, speed: str) -> None:
    """Wait for the gauges, which follow the text a little later."""
    await chat.until(lambda: speed in str(chat.app.chat.query_one("#gauges", ItemLine).content))


async def test_the_start_on_a_machine_that_never_had_it(open_chat: OpenChat) -> None:
    async with open_chat(SIZE, pair="builtin", welcomes=True) as chat:
        await chat.reached(FirstRunScreen)
        await check_picture(chat, "start")


async def test_an_answer_streaming_at_any_width_and_after_its_engine_died(open_chat: OpenChat) -> None:
    async with open_chat(SIZE, process=True) as chat:
        await streaming(chat)
        await check_picture(chat, "streaming")
        await chat.pilot.resize_terminal(*NARROW)
        await check_picture(chat, "narrow")
        await chat.pilot.resize_terminal(*SIZE)
        assert chat.app.link.client.pid is not None
        os.kill(chat.app.link.client.pid, signal.SIGKILL)
        await chat.until(lambda: bool(chat.answers and chat.notices))
        await check_picture(chat, "error")


async def test_settled_answers_with_a_thought_and_code(open_chat: OpenChat) -> None:
    async with open_chat(SIZE) as chat:
        await chat.until(lambda: chat.app.link.state == "ready")
        await chat.ask("think")
        await gauges_show(chat, "200 tok/s")
        await check_picture(chat, "settled")


async def test_a_comparison_with_its_verdict(open_chat: OpenChat) -> None:
    async with open_chat(SIZE, asked="hello") as chat:
        await chat.press("f5")
        await chat.until(lambda: isinstance(chat.app.screen, CompareScreen) and bool(chat.app.screen.record))
        await check_picture(chat, "comparison")


async def test_the_pairs_of_a_mac(open_chat: OpenChat) -> None:
    async with open_chat((120, 30)) as chat:
        screen = await chat.reached(PairsScreen, by="f2")
        await chat.until(lambda: all(facts.fit for facts in screen.facts.values()))
        screen.show_list("qwen3-8b")
        await check_picture(chat, "pairs")
