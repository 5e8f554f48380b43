"""The engine process, driven over real pipes with a scripted session in place of MLX."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, cast

import pytest

from app.engine.client import EngineClient, describe_death
from app.engine.events import PrefillProgressed, TurnEnded
from app.engine.protocol import (
    Answered,
    AnswerFailed,
    Cancel,
    Died,
    EngineEvent,
    Indexing,
    Load,
    Loaded,
    LoadFailed,
    Request,
    SkipTuning,
    Tuning,
    TuningEnded,
)
from app.settings.options import AnswerOptions
from models.pairs.pair import PairSpec, Source
from tests.app.engine.exchange import answer_of, ask, ended, exchange, has, spec
from tests.app.tiny_pair import TinyPair

SENDS_NO_EVENT = """
import sys, time, multiprocessing.connection as pipe
pipe.Connection(int(sys.argv[2]), readable=False).send_bytes(b"no pickle")
time.sleep(60)
"""
ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tests" / "app" / "scripted_engine.py"


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineClient]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    client = EngineClient(tmp_path / "engine.log", [sys.executable, str(SCRIPT)])
    client.start()
    yield client
    client.close()


def test_answers_run_in_order_and_one_that_is_cancelled_or_fails_leaves_the_next_alone(
    threaded: EngineClient, capfd: pytest.CaptureFixture[str]
) -> None:
    events = exchange(threaded, Load(spec()), ask(1, "hello"), until=ended(1))
    assert isinstance(events[0], Loaded)
    assert events[2] == Answered(1, PrefillProgressed(6, 6))
    assert answer_of(events, 1).finish_reason == "stop"
    events = exchange(threaded, ask(2, "slow"), until=has(Answered, 4))
    events += exchange(threaded, Cancel(2), ask(3, "fail"), ask(4, "hello"), until=ended(4))
    cancelled = answer_of(events, 2)
    assert cancelled.finish_reason == "cancelled" and cancelled.text.startswith("The target")
    (failure,) = [e for e in events if isinstance(e, AnswerFailed)]
    assert "ValueError at scripted_engine.py" in failure.message and "Traceback" not in failure.message
    assert "Traceback" in capfd.readouterr().err
    assert answer_of(events, 4).finish_reason == "stop"


def test_a_cancel_ends_the_answer_it_names_and_no_other(threaded: EngineClient) -> None:
    def finished(events: list[EngineEvent]) -> list[int]:
        return [e.id for e in events if isinstance(e, Answered) and isinstance(e.event, TurnEnded)]

    exchange(threaded, Load(spec()), ask(1, "slow"), ask(2, "slow"), until=has(Answered, 3))
    assert finished(exchange(threaded, Cancel(2), until=has(Answered, 5))) == []
    assert finished(exchange(threaded, Cancel(1), ask(3, "hello"), until=ended(3))) == [1, 2, 3]


def test_where_another_mac_is_gone_the_pair_is(threaded: EngineClient) -> None:
    load = Load(spec(), at_once=2)
    events = exchange(threaded, load, ask(1, "slow"), ask(2, "lost"), until=has(LoadFailed))
    failed = [event for event in events if isinstance(event, AnswerFailed | LoadFailed)]
    assert len(failed) == 3 and not any(event.refused for event in failed)


def test_measuring_at_a_pairs_first_use_is_reported_and_can_be_skipped(threaded: EngineClient) -> None:
    events = exchange(threaded, Load(spec("untuned")), ask(1, "hello"), until=has(Tuning, 4))
    assert isinstance(events[0], Loaded) and events[1] == Tuning(1, 400)
    events = exchange(threaded, SkipTuning(), until=ended(1))
    assert TuningEnded(skipped=True) in events
    assert answer_of(events, 1).finish_reason == "stop"


def test_another_pair_does_not_wait_until_the_one_before_is_measured(threaded: EngineClient) -> None:
    events = exchange(threaded, Load(spec("untuned")), until=has(Tuning))
    events += exchange(threaded, Load(spec()), ask(1, "hello"), until=ended(1))
    assert has(Loaded, 2)(events) and not has(Tuning, 400)(events)


def test_closing_ends_an_engine_that_measures(threaded: EngineClient) -> None:
    exchange(threaded, Load(spec("untuned")), until=has(Tuning))
    threaded.close()
    assert threaded.returncode == 0


def test_closing_ends_the_process_in_the_middle_of_its_work(client: EngineClient) -> None:
    exchange(client, Load(spec()), ask(1, "slow", AnswerOptions(max_tokens=100_000)), until=has(Answered))
    client.close()
    assert not client.alive and client.returncode == 0
    assert not has(Died)(client.poll())


def test_a_pair_that_cannot_be_opened_fails_the_load_and_every_answer_with_its_reason(
    threaded: EngineClient,
) -> None:
    failed, answer = exchange(threaded, Load(spec("absent")), ask(1, "hello"), until=ended(1))
    assert isinstance(failed, LoadFailed) and "mlx-spec pull absent" in failed.message and failed.refused
    assert answer == AnswerFailed(1, failed.message)


def test_a_process_that_reads_nothing_keeps_no_sender_waiting(client: EngineClient) -> None:
    """In a server, everyone would wait: the long request of one client fills the pipe."""
    exchange(client, Load(spec()), until=has(Loaded))
    assert client.pid is not None
    os.kill(client.pid, signal.SIGSTOP)
    sending = threading.Thread(target=client.send, args=[ask(1, "echo" + "a" * 1_000_000)], daemon=True)
    sending.start()
    sending.join(20)
    waits = sending.is_alive()
    os.kill(client.pid, signal.SIGCONT)
    assert not waits
    assert len(answer_of(exchange(client, until=ended(1)), 1).text) > 1_000_000


def test_a_killed_process_is_noticed_and_the_next_one_answers(client: EngineClient) -> None:
    exchange(client, Load(spec()), ask(1, "slow"), until=has(Answered, 4))
    assert client.pid is not None
    os.kill(client.pid, signal.SIGKILL)
    *_, died = exchange(client, until=has(Died))
    assert isinstance(died, Died) and died.returncode == -signal.SIGKILL
    assert "SIGKILL" in describe_death(died)
    client.send(ask(2, "lost"))
    client.start()
    events = exchange(client, Load(spec()), ask(3, "hello"), until=ended(3))
    assert answer_of(events, 3).finish_reason == "stop"


class Unreadable:
    """Raises where it is received."""

    def __reduce__(self) -> Any:
        return int, ("no number",)


def test_a_process_that_sends_or_is_sent_what_cannot_be_read_ends(client: EngineClient) -> None:
    client.send(cast("Request", Unreadable()))
    assert exchange(client, until=has(Died))[-1] == Died(0)
    other = EngineClient(client.log_path, [sys.executable, "-c", SENDS_NO_EVENT])
    other.start()
    assert exchange(other, until=has(Died)) == [Died(-signal.SIGTERM)]
    other.close()


def test_a_process_that_cannot_be_started_leaves_nothing_open(tmp_path: Path) -> None:
    client = EngineClient(tmp_path / "engine.log", [str(tmp_path / "no such program")])
    before = os.listdir("/dev/fd")
    with suppress(FileNotFoundError):
        client.start()
    assert os.listdir("/dev/fd") == before
    assert not client.alive


SOON_ORPHANED = """
import runpy, sys
from app.engine import process

process.ORPHAN_SECONDS = 0.1
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


def test_the_process_ends_once_its_parent_is_gone_even_if_its_work_never_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    its_requests, requests = Pipe(duplex=False)
    events, its_events = Pipe(duplex=False)
    ends = its_requests.fileno(), its_events.fileno()
    command = [sys.executable, "-c", SOON_ORPHANED, str(SCRIPT), *map(str, ends)]
    with its_requests, its_events:
        process = subprocess.Popen(command, pass_fds=ends)
    with requests, events:
        requests.send(Load(spec()))
        requests.send(ask(1, "deaf"))
        assert isinstance(events.recv(), Loaded) and isinstance(events.recv(), Answered)
    assert process.wait(60) == 1


def test_a_real_pair_answers_drafted_and_plain_alike_and_its_process_ends_cleanly(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text("the small model guesses ahead")
    (tmp_path / "app.py").write_text("raise SystemExit")  # of the person's own, where the chat was started
    monkeypatch.chdir(tmp_path)
    drafters, documents = (
        (Source(str(tiny_pair.draft)),),
        (str(tmp_path / "notes.md"), str(tmp_path / "gone")),
    )
    pair = PairSpec("tiny", Source(str(tiny_pair.target)), None, drafters=drafters, documents=documents)
    client = EngineClient(tmp_path / "engine.log")
    client.start()
    indexing, *events = exchange(client, Load(pair), until=has(Tuning))
    assert indexing == Indexing(f"Indexing {documents[0]}, once: 0 of 1 files")
    loaded = next(event for event in events if isinstance(event, Loaded))
    assert f"{documents[1]} cannot be read" in loaded.info.notes[-1]
    assert loaded.info.drafters == ("lookup", "recycling", "lookahead", "grounded", "model")
    drafting, plain = (
        AnswerOptions(max_tokens=24, draft_length=3, drafter="model+lookup"),
        AnswerOptions(max_tokens=24, drafter="none"),
    )
    events = exchange(client, SkipTuning(), ask(1, "hi", drafting), ask(2, "hi", plain), until=ended(2))
    assert has(TuningEnded)(events)
    first, second = answer_of(events, 1), answer_of(events, 2)
    assert first.token_ids == second.token_ids
    assert first.stats.draft_n > 0 and second.stats.draft_n == 0
    client.close()
    assert client.returncode == 0, client.log_path.read_text()
