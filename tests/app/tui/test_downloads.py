"""Downloads from a Hub on a local port: they run beside the chat and are offered again after a restart."""

import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import OptionList, Static

from app.chat.pull_queue import PullJob
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.question import QuestionScreen
from app.tui.widgets.download_list import progress_line
from app.tui.widgets.item_line import ItemLine
from models.hub.incomplete import partial_files
from models.hub.progress import Progress
from models.hub.removal import Removal, remove
from models.pairs.catalogue import find
from models.pairs.installed import installed
from models.pairs.pair import PairSpec
from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.conftest import FIRST, SECOND
from tests.app.tui.pairs_driver import answer, open_pairs, rows, text_of
from tests.models.hub_server import HubServer

pytestmark = pytest.mark.usefixtures("own_hub_cache")


async def test_what_is_said_about_a_pair_goes_when_another_is_chosen(open_chat: OpenChat) -> None:
    async with open_chat(size=(40, 12)) as chat:
        screen = await open_pairs(chat)
        await chat.until(lambda: "builtin can be removed" in text_of(chat, "#message"), by="x")
        screen.show_list()
        await chat.pilot.pause()
        assert "builtin can be removed" in text_of(chat, "#message"), "the rows alone are new"
        await chat.until(lambda: text_of(chat, "#message") == screen.hint, by="down")


async def test_what_is_said_about_a_pair_stays_where_the_list_was_drawn_anew_right_before(
    open_chat: OpenChat,
) -> None:
    """As by the facts of all pairs, which come from a thread."""
    async with open_chat() as chat:
        screen = await open_pairs(chat, FIRST)
        screen.show_list("builtin")
        screen.show_list(FIRST)
        screen.show_message("It was added.")
        await chat.pilot.pause()
        assert text_of(chat, "#message") == "It was added."


async def test_keys_on_a_pair_that_another_window_removed_meanwhile_end_nothing(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        screen = await open_pairs(chat)
        listed = screen.query_one(OptionList)
        listed.highlighted = listed.get_option_index(FIRST)
        listed.action_select()
        del screen.facts[FIRST]  # before the list's messages come
        await chat.pilot.pause()
        assert screen.chosen is None and chat.app.screen is screen


async def test_a_download_that_fails_says_why_r_tries_again_with_its_progress_and_what_came_is_removed(
    open_chat: OpenChat, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    async with open_chat(size=(40, 24)) as chat:
        screen = await open_pairs(chat, FIRST)
        await chat.press("enter")
        await answer(chat, "y")
        await chat.until(lambda: "No connection" in text_of(chat, "#downloads"))
        assert "r tries again." in text_of(chat, "#downloads") and "failed" in rows(screen)[FIRST]
        assert text_of(chat, "#message") == screen.hint
        await chat.shows("HF_ENDPOINT.")
        await chat.noticed("No connection")
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        hub.cut_after["model.safetensors"] = 1_500_000
        await chat.until(lambda: "connection broke" in text_of(chat, "#downloads"), by="r")
        assert not installed(find(FIRST).spec) and parts_of(FIRST) >= 1 << 20
        hub.cut_after.clear()
        hub.stall_after["model.safetensors"] = 2_000_000
        await chat.until(lambda: all(part in text_of(chat, "#downloads") for part in ("MB of", "%")), by="r")
        await chat.until(lambda: "↓" in rows(screen)[FIRST])
        await chat.press("escape")
        await chat.pilot.resize_terminal(100, 24)
        await chat.until(lambda: f"↓ {FIRST}" in str(chat.app.chat.query_one("#status", ItemLine).content))
        await chat.type(f"/use {FIRST}")
        await chat.noticed(f"{FIRST} is still being downloaded. F2 shows the progress.")
        await chat.type(f"/use {SECOND}")
        await chat.noticed(f"{SECOND} is not on this machine yet. /pull {SECOND} gets it.")
        hub.stall_after.clear()
        await chat.noticed(f"is installed. /use {FIRST} answers with it.")
        await chat.until(lambda: "↓" not in str(chat.app.chat.query_one("#status", ItemLine).content))
        screen = await open_pairs(chat, FIRST)
        await chat.until(lambda: "installed" in rows(screen)[FIRST])
        await chat.reached(QuestionScreen, by="x")
        assert "MB are freed" in str(chat.app.screen.query(Static).first().content)
        await chat.reached(PairsScreen, by="y")
        await chat.until(lambda: "was removed" in text_of(chat, "#message"))
        assert not installed(find(FIRST).spec)
        await chat.until(lambda: "installed" not in rows(screen)[FIRST])


async def test_a_removed_pair_takes_its_failed_download_with_it(open_chat: OpenChat, hub: HubServer) -> None:
    hub.cut_after["model.safetensors"] = 1_500_000
    async with open_chat() as chat:
        screen = await open_pairs(chat, FIRST)
        await chat.press("enter")
        await answer(chat, "y")
        await chat.until(lambda: "connection broke" in text_of(chat, "#downloads"))
        await chat.reached(QuestionScreen, by="x")
        await chat.reached(PairsScreen, by="y")
        await chat.until(lambda: "was removed" in text_of(chat, "#message"))
        await chat.until(lambda: not screen.query_one("#downloads").display and not screen.applies("retry"))


async def test_a_question_about_a_pair_is_answered_also_when_a_download_ends_meanwhile(
    open_chat: OpenChat, hub: HubServer
) -> None:
    hub.stall_after["model.safetensors"] = 200_000
    async with open_chat() as chat:
        first = chat.app.pulls.add(find(FIRST).spec)
        screen = await open_pairs(chat, SECOND)
        await chat.reached(QuestionScreen, by="enter")
        hub.stall_after.clear()
        await chat.until(lambda: first.state == "done" and "installed" in rows(screen)[FIRST])
        await answer(chat, "y")
        await chat.until(lambda: installed(find(SECOND).spec))


async def test_a_removal_that_ends_after_the_list_was_left_is_told_and_takes_the_failed_download_with_it(
    open_chat: OpenChat, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()

    def slow(spec: PairSpec) -> Removal:
        goes_on.wait(60)
        return remove(spec)

    monkeypatch.setattr("app.chat.pair_removal.remove", slow)
    hub.cut_after["model.safetensors"] = 1_500_000
    async with open_chat() as chat:
        chat.app.pulls.add(find(FIRST).spec)
        await open_pairs(chat, FIRST)
        await chat.until(lambda: "connection broke" in text_of(chat, "#downloads"))
        await chat.reached(QuestionScreen, by="x")
        await chat.reached(PairsScreen, by="y")
        await chat.back_in_chat(by="escape")
        goes_on.set()
        await chat.noticed(f"{FIRST} was removed")
        assert chat.app.pulls.of(find(FIRST).spec) is None


async def test_a_stalled_one_of_two_downloads_is_cancelled_the_other_arrives_and_r_brings_it_back(
    open_chat: OpenChat, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.hub.progress._STALLED_SECONDS", 0.4)
    hub.stall_after["model.safetensors"] = 200_000
    async with open_chat() as chat:
        chat.app.pulls.add(find(FIRST).spec)
        chat.app.pulls.add(find(SECOND).spec)
        screen = await open_pairs(chat, FIRST)
        assert "waiting for its turn" in text_of(chat, "#downloads") and "waiting" in rows(screen)[SECOND]
        # Bytes still arriving may end a stall: both are searched in one text.
        await chat.until(
            lambda: "stalled, no data for" in (line := text_of(chat, "#downloads")) and "left" not in line
        )
        await chat.until(lambda: "stalled" in str(chat.app.chat.query_one("#status", ItemLine).content))
        await chat.until(lambda: f"{FIRST}: cancelled" in text_of(chat, "#downloads"), by="c")
        hub.stall_after.clear()
        await chat.until(lambda: installed(find(SECOND).spec))
        assert not installed(find(FIRST).spec) and "installed" not in rows(screen)[FIRST]
        await chat.until(lambda: installed(find(FIRST).spec), by="r")


def parts_of(name: str) -> int:
    """Bytes of a pair's partly downloaded weights."""
    sizes = []
    for file in [file for source in find(name).spec.sources for file in partial_files(source.repo)]:
        with suppress(FileNotFoundError):  # complete by now
            sizes.append(file.stat().st_size)
    return sum(sizes)


async def test_leaving_asks_first_and_downloads_that_had_not_ended_are_offered_at_the_next_start(
    open_chat: OpenChat, hub: HubServer, tmp_path: Path
) -> None:
    hub.stall_after["model.safetensors"] = 2_000_000
    async with open_chat() as chat:
        job = chat.app.pulls.add(find(FIRST).spec)
        chat.app.pulls.add(find(SECOND).spec)
        await chat.until(lambda: parts_of(FIRST) > 1 << 20)
        assert list((tmp_path / "downloads").iterdir()), "kept while it runs, should the program be killed"
        await chat.reached(QuestionScreen, by="ctrl+q")
        assert "next start offers to resume" in str(chat.app.screen.query(Static).first().content)
        await chat.back_in_chat(by="n")
        assert job.state == "running"
        await chat.reached(QuestionScreen, by="ctrl+q")
        await chat.exited(by="ctrl+q")
    assert job.state == "cancelled"
    hub.stall_after.clear()
    hub.count_anew()
    hub.requests.clear()
    came = parts_of(FIRST)
    async with open_chat(size=(80, 24)) as chat:
        await chat.noticed(f"Downloads of {FIRST}, {SECOND}")
        screen = await open_pairs(chat, FIRST)
        assert "paused" in rows(screen)[FIRST] and "paused" in rows(screen)[SECOND]
        assert f"‖ {FIRST}: paused" in text_of(chat, "#downloads")
        assert hub.requests == [] and chat.app.pulls.unfinished == [], "nothing begins by itself"
        assert not installed(find(FIRST).spec)
        screen.show_list(SECOND)
        await chat.until(lambda: f"{SECOND}: cancelled" in text_of(chat, "#downloads"), by="c")
        await chat.until(lambda: "paused" not in rows(screen)[SECOND])
        screen.show_list("builtin")
        await chat.until(lambda: installed(find(FIRST).spec), by="r")
        assert len(chat.app.pulls.jobs) == 2 and not installed(find(SECOND).spec)
        files = [hub.models[source.repo].files for source in find(FIRST).spec.sources]
        small = {name for name in files[0] if not name.endswith(".safetensors")}
        assert not small.intersection(hub.downloads())
        assert hub.sent_bytes == sum(len(one["model.safetensors"]) for one in files) - came
        await chat.until(lambda: not list((tmp_path / "downloads").iterdir()))


async def test_the_row_of_a_failed_download_that_is_cancelled_does_not_go_on_saying_that_it_failed(
    open_chat: OpenChat,
) -> None:
    async with open_chat(size=(100, 30)) as chat:
        chat.app.pulls.jobs.append(PullJob(find(FIRST).spec, "failed"))
        screen = await open_pairs(chat, FIRST)
        assert "failed" in rows(screen)[FIRST]
        await chat.until(lambda: f"{FIRST}: cancelled" in text_of(chat, "#downloads"), by="c")
        await chat.until(lambda: "failed" not in rows(screen)[FIRST])


async def test_what_the_pairs_say_of_a_download_is_not_said_again_over_them(open_chat: OpenChat) -> None:
    async with open_chat(size=(80, 24), toasts=True) as chat:
        await open_pairs(chat)
        chat.app.pulls.jobs.append(PullJob(find(FIRST).spec, "cancelled"))
        await chat.noticed(f"The download of {FIRST} was cancelled.")
        await chat.shows(f"{FIRST}: cancelled")
        await chat.pilot.pause(0.2)
        assert "The download of" not in chat.screen
        await chat.back_in_chat(by="escape")
        chat.app.pulls.jobs.append(PullJob(find(SECOND).spec, "cancelled"))
        await chat.shows(f"The download of {SECOND} was")


def test_progress_in_words_has_bytes_percent_rate_time_left_and_stalls() -> None:
    progress = Progress("weights", 500_000_000, (2_000_000_000,), bytes_per_second=12e6)
    assert progress_line("p", progress) == "p: ██░░░░░░ 25% · 500.0 MB of 2.0 GB · 12.0 MB/s · 2 min left"
    stalled = replace(progress, stalled_seconds=12.3)
    assert progress_line("p", stalled).endswith("of 2.0 GB · stalled, no data for 12 s")
    waits = replace(stalled, wait_seconds=300.0)
    assert progress_line("p", waits).endswith("of 2.0 GB · the Hub asks to wait 5 min (error 429)")
