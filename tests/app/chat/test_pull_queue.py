"""The queue of downloads, without a screen: the jobs kept for the next start, and which program gets them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from app.chat.pull_queue import JobState, PullJob, PullQueue
from models.errors import PullCancelled
from models.hub.progress import Progress
from models.pairs.catalogue import find
from models.pairs.pair import PairSpec

FIRST, SECOND = "smollm2-1.7b", "qwen3-4b"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def test_downloads_go_on_where_their_list_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "downloads").write_text("in the way")
    queue = PullQueue(tmp_path / "downloads")
    job = queue.add(find("builtin").spec)
    job.wait()
    assert queue.advance() == [job] and job.state == "done"
    queue.end()


def test_a_download_that_ended_before_another_was_asked_for_is_told_all_the_same(tmp_path: Path) -> None:
    queue = PullQueue(tmp_path)
    first = queue.add(find("builtin").spec)
    first.wait()
    second = queue.add(replace(first.pair, name="another"))
    second.wait()
    assert queue.advance() == [first, second]
    queue.end()


def test_a_download_that_failed_is_a_failed_one_at_the_next_start_too(tmp_path: Path) -> None:
    queue = PullQueue(tmp_path)
    for name in (FIRST, "builtin"):  # the second has come since, by another program
        queue.jobs.append(PullJob(find(name).spec, "failed", "No connection."))
    queue.advance()
    queue.end()
    queue = PullQueue(tmp_path)
    assert [(job.state, job.error) for job in queue.jobs] == [("failed", "No connection.")]
    assert queue.paused == [] and queue.advance() == []
    queue.end()


def test_the_download_that_is_named_is_stopped_or_goes_on_before_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, pairs = PullQueue(tmp_path), [find(name).spec for name in (FIRST, SECOND, "qwen3-8b")]
    asked: list[PairSpec] = []
    monkeypatch.setattr(queue, "add", asked.append)

    def of(*states: JobState) -> PullQueue:
        asked.clear()
        queue.jobs = [PullJob(pair, state) for pair, state in zip(pairs, states, strict=True)]
        return queue

    for named, stopped in ((pairs[2], pairs[2]), (None, pairs[1])):
        job = of("paused", "running", "waiting").cancel(named)
        assert job is not None and job.pair == stopped
    for named, going_on in ((None, pairs[:2]), (pairs[2], pairs[2:])):
        of("paused", "failed", "cancelled").resume(named)
        assert asked == going_on
    of("cancelled", "cancelled", "done").resume(None)
    assert asked == [pairs[1]], "the last"


def test_what_is_under_way_is_listed_before_what_went_wrong(tmp_path: Path) -> None:
    queue = PullQueue(tmp_path)
    states: list[JobState] = ["cancelled", "failed", "done", "paused", "waiting", "running"]
    queue.jobs = [PullJob(find(FIRST).spec, state) for state in states]
    assert [job.state for job in queue.not_here()] == ["running", "waiting", "paused", "failed", "cancelled"]


def test_a_download_may_end_while_the_list_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = PullQueue(tmp_path)
    job = PullJob(find(FIRST).spec)
    queue.jobs, states = [job], iter(["running", "done", "done", "done"])
    monkeypatch.setattr(PullJob, "state", property(lambda _: next(states)), raising=False)
    assert queue.not_here() == [job]


def test_where_there_is_little_room_the_chosen_pairs_download_comes_after_what_runs(tmp_path: Path) -> None:
    queue = PullQueue(tmp_path)
    names = ("qwen3-8b", FIRST, SECOND)
    queue.jobs = [PullJob(find(name).spec, "running" if name == "qwen3-8b" else "failed") for name in names]
    for chosen, order in ((SECOND, ["qwen3-8b", SECOND, FIRST]), ("builtin", list(names))):
        assert [job.pair.name for job in queue.not_here(find(chosen).spec)] == order


def test_a_download_that_began_again_while_its_pair_was_removed_stays_in_the_list(tmp_path: Path) -> None:
    queue, pair = PullQueue(tmp_path), find(FIRST).spec
    states: dict[JobState, int] = {"waiting": 1, "running": 1, "failed": 0}
    for state, left in states.items():
        queue.jobs = [PullJob(pair, state)]
        queue.forget(pair)
        assert len(queue.jobs) == left
    queue.end()


def test_a_download_that_is_cancelled_when_all_of_it_had_come_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(pair: PairSpec, **_: object) -> Iterator[Progress]:
        raise PullCancelled("Pulling was cancelled.")

    monkeypatch.setattr("app.chat.pull_queue.pull", stopped)
    queue = PullQueue(tmp_path)
    for name, state in (("builtin", "done"), (FIRST, "cancelled")):
        job = queue.add(find(name).spec)
        job.wait()
        assert job.state == state
    queue.end()


def test_a_download_that_is_asked_for_again_while_it_stops_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = Event()

    def stops(pair: PairSpec, **_: object) -> Iterator[Progress]:
        end.wait(60)
        raise PullCancelled("Pulling was cancelled.")

    monkeypatch.setattr("app.chat.pull_queue.pull", stops)
    queue, pair = PullQueue(tmp_path), find(FIRST).spec
    for is_wanted in (True, False):
        end.clear()
        job = queue.add(pair)
        queue.cancel(pair)
        assert queue.add(pair) is job
        if not is_wanted:
            queue.cancel(pair)
        end.set()
        job.wait()
        assert (job in queue.advance()) is (job in queue.jobs) is not is_wanted
        queue.jobs[0].wait()
    queue.end()


def test_a_download_that_fails_as_nobody_foresaw_is_told_and_the_next_one_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(pair: PairSpec, **_: object) -> Iterator[Progress]:
        raise OSError("No room") if pair.name == SECOND else RuntimeError("can't start new thread")

    monkeypatch.setattr("app.chat.pull_queue.pull", fails)
    queue = PullQueue(tmp_path)
    for name in (FIRST, SECOND):
        queue.add(find(name).spec).wait()
    queue.advance()
    for job in queue.jobs:
        job.wait()
    told = "Downloading failed: RuntimeError: can't start new thread"
    assert [(job.state, job.error) for job in queue.jobs] == [("failed", told), ("failed", "No room")]
    queue.end()
