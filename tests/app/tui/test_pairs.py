"""The pairs screen: the real catalogue, downloads from a Hub on a local port."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList, Static

from app.tui.keys.in_force import Keys
from app.tui.pair_facts import Facts, details, download_line, memory_bar, pulling, row
from app.tui.pull_queue import PullJob
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.question import QuestionScreen
from app.tui.widgets.status_line import StatusLine
from models.hub.incomplete import partial_files
from models.hub.progress import ModelProgress, Progress
from models.pairs.catalogue import all_pairs, find
from models.pairs.installed import installed
from models.pairs.pair import PairSpec
from models.speed.chips import find_chip
from models.speed.fit import Fit
from models.speed.roofline import expect
from tests.app.tui.chat_driver import Chat, OpenChat
from tests.models.conftest import STAND_IN, read_tokenizers_quickly
from tests.models.hub_server import HostedModel, HubServer
from tests.models.tiny_models import files_of, make_model, make_pair, make_tokenizer


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    read_tokenizers_quickly(monkeypatch)


def text_of(chat: Chat, where: str) -> str:
    return str(chat.app.screen.query_one(where, Static).content)


def rows(screen: PairsScreen) -> dict[str | None, str]:
    return {option.id: str(option.prompt) for option in screen.query_one(OptionList).options}


async def open_pairs(chat: Chat, name: str = "builtin") -> PairsScreen:
    await chat.pilot.press("f2")
    await chat.until(lambda: isinstance(chat.app.screen, PairsScreen) and chat.app.screen.is_mounted)
    screen = chat.app.screen
    assert isinstance(screen, PairsScreen)
    await chat.until(lambda: all(facts.fit for facts in screen.facts.values()))
    screen.show_list(name)
    await chat.pilot.pause()
    return screen


async def answer(chat: Chat, key: str) -> None:
    """Answer the question that is asked."""
    await chat.until(lambda: isinstance(chat.app.screen, QuestionScreen) and chat.app.screen.is_mounted)
    await chat.pilot.press(key)
    await chat.until(lambda: isinstance(chat.app.screen, PairsScreen))


async def test_a_second_enter_in_one_read_asks_nothing_again(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        screen = await open_pairs(chat, "smollm2-1.7b")
        chat.press_at_once("enter", "enter", "enter")
        await answer(chat, "n")
        await chat.pilot.pause(0.1)
        assert chat.app.screen is screen


async def test_the_list_says_what_is_installed_what_fits_and_what_is_not_verified(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        screen = await open_pairs(chat, "smollm2-1.7b")
        assert "installed" in rows(screen)["builtin"] and "%" in rows(screen)["builtin"]
        assert "?" in rows(screen)["smollm2-1.7b"] and "installed" not in rows(screen)["smollm2-1.7b"]
        shown = text_of(chat, "#pair-details Static")
        assert "Not verified" in shown and "of memory" in shown and "Not measured here" in shown
        await chat.pilot.press("slash", *"qwen3 8b", "enter")
        await chat.until(lambda: list(rows(screen)) == ["qwen3-8b"])
        await chat.pilot.press("escape")
        await chat.until(lambda: len(rows(screen)) == len(all_pairs()))
        assert chat.app.screen is screen and not screen.query_one(Input).display
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.app.chat)


@pytest.mark.parametrize("size", [(80, 24), (40, 20)])
async def test_everything_fits_a_small_terminal(open_chat: OpenChat, size: tuple[int, int]) -> None:
    async with open_chat(size=size) as chat:
        screen = await open_pairs(chat, "smollm2-1.7b")
        await chat.pilot.pause()
        assert all(
            widget.region.right <= size[0] for widget in screen.query("PairsScreen > *") if widget.display
        )
        assert screen.query_one(OptionList).size.height >= 3
        assert screen.query_one("#pull-line").region.bottom <= size[1]


async def test_in_40_columns_all_that_is_said_about_a_pair_can_be_read(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 24)) as chat:
        screen = await open_pairs(chat, "qwen3-4b")
        shown = screen.query_one("#pair-details")
        await chat.until(lambda: "More" in chat.screen and shown.max_scroll_y > 0)
        assert "Not verified" not in chat.screen
        for _ in range(9):
            if shown.scroll_y < shown.max_scroll_y:
                await chat.pilot.press("space")
        await chat.until(lambda: "verified:" in chat.screen)
        await chat.pilot.press("space")
        await chat.until(lambda: shown.scroll_y == 0)


async def test_in_40_columns_why_a_download_failed_is_told_to_its_end(
    open_chat: OpenChat, hub: HubServer
) -> None:
    async with open_chat(size=(40, 24)) as chat:
        hub.models.clear()
        await open_pairs(chat, "qwen3-4b")
        await chat.pilot.press("enter")
        await answer(chat, "y")
        await chat.until(lambda: "no repository" in text_of(chat, "#downloads"))
        await chat.until(lambda: "again." in chat.screen)


async def test_an_own_pair_without_a_name_asks_for_one(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await open_pairs(chat)
        await chat.pilot.press("a")
        await chat.until(lambda: isinstance(chat.app.screen, OwnPairScreen))
        await chat.pilot.press("enter")
        await chat.until(lambda: "Name a target first" in text_of(chat, "#own-said"))
        await chat.pilot.press("tab", "enter")
        await chat.until(lambda: "Name a target first" in text_of(chat, "#own-said"))


async def test_a_download_that_fails_says_why_in_words_here_and_in_the_chat(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    async with open_chat() as chat:
        await open_pairs(chat, "smollm2-1.7b")
        await chat.pilot.press("enter")
        await answer(chat, "y")
        await chat.until(lambda: "No connection" in text_of(chat, "#downloads"))
        assert "r tries again" in text_of(chat, "#downloads")
        await chat.until(lambda: any("No connection" in notice for notice in chat.notices))


async def test_saying_no_downloads_nothing(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await open_pairs(chat, "smollm2-1.7b")
        await chat.pilot.press("enter")
        await answer(chat, "escape")
        assert chat.app.pulls.jobs == []


FIRST, SECOND = "smollm2-1.7b", "qwen3-4b"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A local Hub that serves two pairs' names, a few megabytes each."""
    target = make_model(tmp_path / "served", hidden_size=256, intermediate_size=512)  # some 4 MB
    make_tokenizer(target)
    files = files_of(target)
    repos = [source.repo for name in (FIRST, SECOND) for source in find(name).spec.sources]
    with HubServer({repo: HostedModel(dict(files)) for repo in repos}) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


async def test_a_download_shows_its_progress_ends_installed_is_used_and_removed(
    open_chat: OpenChat, hub: HubServer
) -> None:
    hub.stall_after["model.safetensors"] = 2_000_000
    async with open_chat() as chat:
        screen = await open_pairs(chat, FIRST)
        await chat.pilot.press("enter")
        await answer(chat, "y")
        await chat.until(
            lambda: "MB of" in text_of(chat, "#downloads") and "%" in text_of(chat, "#downloads")
        )
        await chat.until(lambda: "↓" in rows(screen)[FIRST])
        await chat.pilot.press("escape")
        await chat.until(lambda: f"↓ {FIRST}" in str(chat.app.chat.query_one(StatusLine).content))
        hub.stall_after.clear()
        await chat.until(lambda: any("is installed" in notice for notice in chat.notices))
        assert "↓" not in str(chat.app.chat.query_one(StatusLine).content)

        screen = await open_pairs(chat, FIRST)
        await chat.until(lambda: "installed" in rows(screen)[FIRST])
        await chat.pilot.press("x")
        await chat.until(lambda: isinstance(chat.app.screen, QuestionScreen) and chat.app.screen.is_mounted)
        assert "MB are freed" in str(chat.app.screen.query(Static).first().content)
        await chat.pilot.press("y")
        await chat.until(lambda: isinstance(chat.app.screen, PairsScreen))
        await chat.until(lambda: "was removed" in text_of(chat, "#pull-line"))
        assert not installed(find(FIRST).spec)
        await chat.until(lambda: "installed" not in rows(screen)[FIRST])


async def test_one_of_two_downloads_is_cancelled_and_the_other_arrives(
    open_chat: OpenChat, hub: HubServer
) -> None:
    hub.stall_after["model.safetensors"] = 0
    async with open_chat() as chat:
        chat.app.pulls.add(find(FIRST).spec)
        chat.app.pulls.add(find(SECOND).spec)
        screen = await open_pairs(chat, FIRST)
        assert "waits for its turn" in text_of(chat, "#downloads") and "waiting" in rows(screen)[SECOND]
        await chat.until(lambda: f"{FIRST}: ░" in text_of(chat, "#downloads"))
        await chat.pilot.press("c")
        await chat.until(lambda: f"{FIRST}: cancelled" in text_of(chat, "#downloads"))
        hub.stall_after.clear()
        await chat.until(lambda: installed(find(SECOND).spec))
        assert not installed(find(FIRST).spec) and "installed" not in rows(screen)[FIRST]
        await chat.pilot.press("r")
        await chat.until(lambda: installed(find(FIRST).spec))


async def test_a_stall_is_said_as_one_and_can_be_cancelled_and_retried(
    open_chat: OpenChat, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.hub.progress._STALLED_SECONDS", 0.6)
    hub.stall_after["model.safetensors"] = 200_000
    async with open_chat() as chat:
        await open_pairs(chat, FIRST)
        chat.app.pulls.add(find(FIRST).spec)
        await chat.until(lambda: "stalled, no data for" in text_of(chat, "#downloads"))
        await chat.until(lambda: "stalled" in str(chat.app.chat.query_one(StatusLine).content))
        assert "left" not in text_of(chat, "#downloads")
        await chat.pilot.press("c")
        await chat.until(lambda: "cancelled" in text_of(chat, "#downloads"))
        assert not installed(find(FIRST).spec)
        hub.stall_after.clear()
        await chat.pilot.press("r")
        await chat.until(lambda: installed(find(FIRST).spec))


async def test_leaving_while_a_download_runs_asks_first(open_chat: OpenChat, hub: HubServer) -> None:
    hub.stall_after["model.safetensors"] = 0
    async with open_chat() as chat:
        job = chat.app.pulls.add(find(FIRST).spec)
        await chat.pilot.press("ctrl+q")
        await chat.until(lambda: isinstance(chat.app.screen, QuestionScreen))
        await chat.pilot.press("n")
        await chat.until(lambda: chat.app.screen is chat.app.chat)
        assert job.state == "running"
        await chat.pilot.press("ctrl+q")
        await chat.until(lambda: isinstance(chat.app.screen, QuestionScreen))
        await chat.pilot.press("y")
        await chat.until(lambda: chat.app._exit)
    assert job.state == "cancelled"


async def test_downloads_that_had_not_ended_are_offered_at_the_next_start_and_go_on_when_asked(
    open_chat: OpenChat, hub: HubServer, tmp_path: Path
) -> None:
    hub.stall_after["model.safetensors"] = 2_000_000
    async with open_chat() as chat:
        chat.app.pulls.add(find(FIRST).spec)
        chat.app.pulls.add(find(SECOND).spec)
        await chat.until(lambda: parts_of(FIRST) > 1 << 20)
        assert list((tmp_path / "downloads").iterdir()), "kept while it runs, should the program be killed"
        await chat.pilot.press("ctrl+q")
        await chat.until(lambda: isinstance(chat.app.screen, QuestionScreen))
        assert "next start offers the rest" in str(chat.app.screen.query(Static).first().content)
        await chat.pilot.press("y")
        await chat.until(lambda: chat.app._exit)
    hub.stall_after.clear()
    hub.count_anew()
    hub.requests.clear()
    came = parts_of(FIRST)

    async with open_chat(size=(80, 24)) as chat:
        await chat.until(lambda: any(f"Downloads of {FIRST}, {SECOND}" in notice for notice in chat.notices))
        screen = await open_pairs(chat, FIRST)
        assert "paused" in rows(screen)[FIRST] and "paused" in rows(screen)[SECOND]
        assert f"‖ {FIRST}: paused" in text_of(chat, "#downloads")
        assert hub.requests == [] and chat.app.pulls.unfinished == [], "nothing begins by itself"
        assert not installed(find(FIRST).spec)
        screen.show_list(SECOND)
        await chat.pilot.press("c")
        await chat.until(lambda: f"{SECOND}: cancelled" in text_of(chat, "#downloads"))
        screen.show_list("builtin")
        await chat.pilot.press("r")
        await chat.until(lambda: installed(find(FIRST).spec))
        assert len(chat.app.pulls.jobs) == 2 and not installed(find(SECOND).spec)
        files = [hub.models[source.repo].files for source in find(FIRST).spec.sources]
        small = {name for name in files[0] if not name.endswith(".safetensors")}
        assert not small.intersection(hub.downloads())
        assert hub.sent_bytes == sum(len(one["model.safetensors"]) for one in files) - came
        await chat.until(lambda: not list((tmp_path / "downloads").iterdir()))

    async with open_chat() as chat:
        await open_pairs(chat, FIRST)
        assert chat.app.pulls.jobs == [] and not any("Downloads" in notice for notice in chat.notices)


async def test_a_connection_cut_in_mid_file_is_said_and_r_brings_the_rest(
    open_chat: OpenChat, hub: HubServer
) -> None:
    hub.cut_after["model.safetensors"] = 1_500_000
    async with open_chat(size=(80, 24)) as chat:
        screen = await open_pairs(chat, FIRST)
        await chat.pilot.press("enter")
        await answer(chat, "y")
        await chat.until(lambda: "connection broke" in text_of(chat, "#downloads"))
        assert "r tries again" in text_of(chat, "#downloads")
        assert "failed" in rows(screen)[FIRST] and text_of(chat, "#pull-line") == screen.hint
        assert not installed(find(FIRST).spec) and parts_of(FIRST) >= 1 << 20
        hub.cut_after.clear()
        hub.count_anew()
        came = parts_of(FIRST)
        await chat.pilot.press("r")
        await chat.until(lambda: installed(find(FIRST).spec))
        whole = sum(len(hub.models[s.repo].files["model.safetensors"]) for s in find(FIRST).spec.sources)
        assert hub.sent_bytes == whole - came
        await chat.until(lambda: "installed" in rows(screen)[FIRST])


def parts_of(name: str) -> int:
    """Bytes of a pair's weights that are here and not yet whole files."""
    return sum(file.stat().st_size for file in partial_files(s.repo for s in find(name).spec.sources))


async def test_what_downloads_say_while_the_program_closes_meets_no_screen(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        app = chat.app
    app.pulls.problem = "the list cannot be written"
    app._announce()
    app._pump()
    assert app.pulls.problem


async def add_own(chat: Chat, target: str, draft: str) -> str:
    """What the screen says in the end."""
    await open_pairs(chat)
    await chat.pilot.press("a")
    await chat.until(lambda: isinstance(chat.app.screen, OwnPairScreen) and chat.app.screen.is_mounted)
    screen = chat.app.screen
    screen.query_one("#own-target", Input).value = target
    screen.query_one("#own-draft", Input).value = draft
    screen.query_one("#own-draft", Input).focus()
    await chat.pilot.press("enter")
    await chat.until(lambda: chat.app.screen is not screen or text_of(chat, "#own-said").startswith("✗"))
    if chat.app.screen is screen:
        return text_of(chat, "#own-said")
    await chat.until(lambda: not text_of(chat, "#pull-line").startswith("Enter uses a pair, or"))
    return text_of(chat, "#pull-line")


async def test_a_pair_of_ones_own_with_the_larger_model_as_its_draft_is_refused(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    target, draft = make_pair(tmp_path / "made")
    async with open_chat() as chat:
        said = await add_own(chat, str(draft), str(target))
        assert "is not smaller than the target" in said and "Swap them" in said
        assert {pair.own for pair in all_pairs()} == {False}


async def test_a_target_that_cannot_be_one_keeps_the_focus(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await open_pairs(chat)
        await chat.pilot.press("a")
        await chat.until(lambda: isinstance(chat.app.screen, OwnPairScreen) and chat.app.screen.is_mounted)
        target = chat.app.screen.query_one("#own-target", Input)
        target.value = "foo bar"
        await chat.pilot.press("enter")
        await chat.until(lambda: text_of(chat, "#own-said").startswith("✗"))
        assert target.has_focus


async def test_a_pair_of_ones_own_is_checked_kept_used_and_forgotten(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    target, draft = make_pair(tmp_path / "made")
    async with open_chat() as chat:
        assert "belong together" in await add_own(chat, str(target), str(draft))
        pair = find("target")
        assert pair.own and pair.memory_bytes > 300_000_000 and pair.download_bytes == 0
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.app.link.pair == pair.spec)
        assert "known already" in await add_own(chat, str(target), str(draft))
        await chat.pilot.press("escape", "escape")
        chat.app.link.pair = find("builtin").spec
        screen = await open_pairs(chat, "target")
        await chat.pilot.press("x")
        await answer(chat, "y")
        await chat.until(lambda: "target" not in rows(screen))
        assert target.is_dir() and "target" not in {pair.name for pair in all_pairs()}


async def test_a_pair_whose_models_do_not_belong_together_is_refused_with_the_reason(
    open_chat: OpenChat, hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = os.environ["PYTHONPATH"].split(os.pathsep)
    # Comparing takes the real transformers.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in paths if path != str(STAND_IN)))
    other = make_model(tmp_path / "other")
    make_tokenizer(other, text=("entirely other words " * 30,))
    hub.models["org/other"] = HostedModel(files_of(other))
    known = find(FIRST).target.repo
    async with open_chat() as chat:
        assert "read text differently" in await add_own(chat, known, "org/other")
        assert "model.safetensors" not in hub.downloads()
        await chat.pilot.press("escape", "escape")
        assert f"Did you mean {known}" in await add_own(chat, known[:-1], "org/other")
        assert {pair.own for pair in all_pairs()} == {False}


async def test_commands_pull_use_and_remove_pairs_by_name(open_chat: OpenChat, hub: HubServer) -> None:
    async with open_chat() as chat:
        await chat.type(f"/use {FIRST}")
        await chat.until(lambda: any(f"/pull {FIRST}" in notice for notice in chat.notices))
        await chat.type("/pull smollm2")
        await chat.until(lambda: any("Did you mean smollm2-1.7b" in notice for notice in chat.notices))
        await chat.type("/use org/name")
        await chat.until(lambda: "no pair org/name. F2, then a adds one" in chat.notices[-1])
        await chat.type(f"/pull {FIRST}")
        await chat.until(lambda: any("is installed" in notice for notice in chat.notices))
        await chat.type(f"/use {FIRST}")
        await chat.until(lambda: chat.app.link.pair.name == FIRST)
        await chat.type(f"/remove {FIRST}")
        await chat.until(lambda: any("is in use" in notice for notice in chat.notices))
        await chat.type("/use builtin")
        await chat.until(lambda: chat.app.link.pair.name == "builtin")
        for key, what in (("n", "stays"), ("y", "MB freed")):
            assert installed(find(FIRST).spec)
            await chat.type(f"/remove {FIRST}")
            await chat.until(
                lambda: isinstance(chat.app.screen, QuestionScreen) and chat.app.screen.is_mounted
            )
            assert "MB are freed" in str(chat.app.screen.query(Static).first().content)
            await chat.pilot.press(key)
            await chat.until(lambda what=what: what in chat.notices[-1])
        assert not installed(find(FIRST).spec)
        await chat.type(f"/remove {SECOND}")
        await chat.until(lambda: "can be removed" in chat.notices[-1])


async def test_choosing_another_pair_reopens_the_engine_and_keeps_the_conversation(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        await chat.ask("hello")
        chat.app.link.use(PairSpec("other", chat.app.link.pair.target, None))
        await chat.until(lambda: chat.app.link.info is not None and chat.app.link.info.name == "other")
        # What the pair before counted is a guess for this one.
        await chat.until(lambda: "context ~16/" in chat.screen)
        await chat.ask("again")
        await chat.until(lambda: "context 1" in chat.screen)
        assert chat.prompts == ["hello", "again"]


def test_progress_in_words_has_bytes_percent_rate_time_left_and_stalls() -> None:
    progress = Progress("weights", (ModelProgress("a/b", 500_000_000, 2_000_000_000),), bytes_per_second=12e6)
    assert pulling("p", progress) == ("p: ██░░░░░░ 25% · 500.0 MB of 2.0 GB · 12.0 MB/s · 2:05 min left")
    stalled = replace(progress, stalled_seconds=12.3)
    assert pulling("p", stalled).endswith("of 2.0 GB · stalled, no data for 12 s")


def test_memory_is_a_bar_with_its_number() -> None:
    assert memory_bar(Fit("fits", "", 0.5)) == "████░░░░   50%"
    assert memory_bar(Fit("does not fit", "", 3.0)) == "████████  300%"


def test_an_expected_speed_comes_with_its_range_and_source() -> None:
    pair = find("qwen3-8b")
    facts = Facts(pair, False, 0, expected=expect(pair, find_chip("M4 Pro")))
    assert " → " in row(facts, "fits", width=120, predicts=True)
    assert "not measured" in details(facts) and " to " in details(facts)


def test_nothing_is_passed_on_that_a_terminal_would_obey() -> None:
    pair = replace(all_pairs()[1], good_for="\x1b[2J", licence="\x1b]0;x\x07", name="a\x9bb")
    facts = Facts(pair, False, 0, Fit("fits", "\x1b", 0.1))
    job = PullJob(replace(pair.spec, name="\x1b[31m"))
    job.state, job.error = "failed", "\x1b[2J"
    for text in (details(facts), row(facts, "fits", width=120, predicts=False), download_line(job, Keys({}))):
        assert all(char.isprintable() or char == "\n" for char in text)


async def test_a_key_pressed_several_times_in_one_read_asks_once(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.tui.pair_removal._removable", lambda spec: 5_000_000)
    async with open_chat() as chat:
        screen = await open_pairs(chat, FIRST)
        for _ in range(2):
            chat.press_at_once("x", "x", "x")
            await answer(chat, "n")
            await chat.until(lambda: f"{FIRST} stays" in text_of(chat, "#pull-line"))
            await chat.pilot.pause(0.2)
            assert chat.app.screen is screen
        chat.press_at_once("a", "a", "a")
        await chat.until(lambda: isinstance(chat.app.screen, OwnPairScreen) and chat.app.screen.is_mounted)
        await chat.pilot.press("escape")
        await chat.pilot.pause(0.2)
        assert chat.app.screen is screen
