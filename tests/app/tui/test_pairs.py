"""The pair picker: the real catalogue, and downloads that meet a Hub nobody runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import OptionList, Static

from app.tui.pair_facts import details, pulling
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.question import QuestionScreen
from models.catalogue import all_pairs
from models.pair import PairSpec
from models.progress import ModelProgress, Progress
from tests.app.tui.chat_driver import Chat, OpenChat
from tests.models.hub_server import HostedModel, HubServer
from tests.models.tiny_models import files_of, make_model, make_tokenizer


def line(chat: Chat) -> str:
    return str(chat.app.screen.query_one("#pull-line", Static).content)


async def open_pairs(chat: Chat, name: str) -> PairsScreen:
    await chat.pilot.press("f2")
    await chat.until(lambda: isinstance(chat.app.screen, PairsScreen))
    screen = chat.app.screen
    assert isinstance(screen, PairsScreen)
    await chat.until(lambda: screen.query_one(OptionList).option_count == len(all_pairs()))
    screen.query_one(OptionList).highlighted = [pair.name for pair in all_pairs()].index(name)
    await chat.pilot.pause()
    return screen


async def test_the_list_says_what_is_installed_and_what_is_not_verified(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        screen = await open_pairs(chat, "smollm2-1.7b")
        rows = [str(screen.query_one(OptionList).get_option_at_index(i).prompt) for i in range(2)]
        assert rows[1].startswith("smollm2-1.7b") and "?" in rows[1] and "installed" not in rows[1]
        assert "Not verified" in str(screen.query_one("#pair-details", Static).content)
        await chat.pilot.press("escape")
        assert chat.app.screen is chat.app.chat


async def test_a_download_that_fails_says_why_in_words_here_and_in_the_chat(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    async with open_chat() as chat:
        await open_pairs(chat, "smollm2-1.7b")
        await chat.pilot.press("enter")
        await chat.until(lambda: isinstance(chat.app.screen, QuestionScreen))
        await chat.pilot.press("y")
        await chat.until(lambda: chat.app.pull is not None and not chat.app.pull.running)
        await chat.until(lambda: line(chat).startswith("✗"))
        await chat.until(lambda: bool(chat.notices))
        assert "Traceback" not in line(chat)
        await chat.pilot.press("escape")


async def test_saying_no_downloads_nothing(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        screen = await open_pairs(chat, "smollm2-1.7b")
        await chat.pilot.press("enter")
        await chat.until(lambda: isinstance(chat.app.screen, QuestionScreen))
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is screen)
        assert chat.app.pull is None


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A local Hub that serves the smallest real pair's names, a few megabytes each."""
    pair = all_pairs()[1]
    target = make_model(tmp_path / "served", hidden_size=256, intermediate_size=512)
    make_tokenizer(target)
    files = HostedModel(files_of(target))
    with HubServer({source.repo: files for source in pair.spec.sources}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
        yield server


async def start_download(chat: Chat) -> None:
    await open_pairs(chat, "smollm2-1.7b")
    await chat.pilot.press("enter")
    await chat.until(lambda: isinstance(chat.app.screen, QuestionScreen))
    await chat.pilot.press("y")
    await chat.until(lambda: isinstance(chat.app.screen, PairsScreen))


async def test_a_download_shows_its_progress_and_ends_installed(open_chat: OpenChat, hub: HubServer) -> None:
    hub.seconds_per_step = 0.02
    async with open_chat() as chat:
        await start_download(chat)
        await chat.until(lambda: "MB of" in line(chat) and "%" in line(chat))
        await chat.until(lambda: "is installed" in line(chat))
        screen = chat.app.screen
        assert "installed" in str(screen.query_one(OptionList).get_option_at_index(1).prompt)
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.app.link.pair.name == "smollm2-1.7b")
        assert chat.app.screen is chat.app.chat


async def test_a_download_can_be_cancelled(open_chat: OpenChat, hub: HubServer) -> None:
    hub.seconds_per_step = 0.5
    async with open_chat() as chat:
        await start_download(chat)
        await chat.until(lambda: "fetching the weights" in line(chat))
        await chat.pilot.press("c")
        await chat.until(lambda: "cancelled" in line(chat))
        assert "not installed" not in line(chat)
        assert chat.app.pull is not None and not chat.app.pull.succeeded


async def test_leaving_while_a_download_runs_asks_first(open_chat: OpenChat, hub: HubServer) -> None:
    hub.seconds_per_step = 0.5
    async with open_chat() as chat:
        chat.app.start_pull(all_pairs()[1].spec)
        job = chat.app.pull
        assert job is not None
        await chat.pilot.press("ctrl+q")
        await chat.until(lambda: isinstance(chat.app.screen, QuestionScreen))
        await chat.pilot.press("n")
        await chat.until(lambda: chat.app.screen is chat.app.chat)
        assert job.running
        await chat.pilot.press("ctrl+q")
        await chat.until(lambda: isinstance(chat.app.screen, QuestionScreen))
        await chat.pilot.press("y")
        await chat.until(lambda: chat.app._exit)
    assert not job.running and job.cancelled


async def test_choosing_another_pair_reopens_the_engine_and_keeps_the_conversation(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.ask("hello")
        chat.app.link.use(PairSpec("other", chat.app.link.pair.target, None))
        await chat.until(lambda: chat.app.link.info is not None and chat.app.link.info.name == "other")
        await chat.ask("again")
        assert [turn.prompt for turn in chat.app.chat.conversation.turns] == ["hello", "again"]


def test_progress_in_words_has_bytes_percent_rate_and_stalls() -> None:
    progress = Progress("weights", (ModelProgress("a/b", 500_000_000, 2_000_000_000),), bytes_per_second=12e6)
    assert pulling("p", progress) == "p: fetching the weights · 500.0 MB of 2.0 GB · 25% · 12.0 MB/s"
    stalled = Progress("weights", progress.models, stalled=True)
    assert "stalled" in pulling("p", stalled)


def test_details_never_pass_on_what_a_terminal_would_obey() -> None:
    from dataclasses import replace

    assert "\x1b" not in details(replace(all_pairs()[1], good_for="\x1b[2J"), "\x1b")
