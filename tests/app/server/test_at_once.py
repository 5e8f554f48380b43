"""Requests that are answered side by side."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from unittest.mock import Mock

import pytest
from starlette.requests import Request

from app.engine.events import PairInfo, TurnEnded
from app.engine.protocol import Answer, Loaded
from app.engine.server_client import LINE
from app.server import service
from app.server.answering import respond
from app.server.chat_completions import ChatWriter
from app.server.problem import Problem
from app.server.request_queue import RequestQueue
from app.settings.options import AnswerOptions
from models.pairs.pair import PairSpec, Source
from tests.app.server.running_server import CHAT, RunningServer, chat_body

ASKED: list[dict[str, Any]] = [
    {"temperature": 0, "max_tokens": 16},
    {"temperature": 0.8, "max_tokens": 6, "draft": {"length": 1}},
    {"temperature": 1.2, "max_tokens": 20, "draft": {"drafter": "none"}},
    {"temperature": 0, "max_tokens": 12, "draft": {"verify": "block"}},
    {"temperature": 0.8, "max_tokens": 16, "draft": {"drafter": "lookup", "length": 4}},
    {"temperature": 0.9, "max_tokens": 1},
]


def test_texts_are_those_of_requests_that_are_alone(tiny_server: RunningServer) -> None:
    def answer(seed: int) -> Any:
        return tiny_server.chat(f"hello {'there ' * 5 * seed}", **ASKED[seed], seed=seed).json

    alone = list(map(answer, range(len(ASKED))))
    names = {
        "generation_tokens_total": "predicted_n", "prompt_tokens_cached_total": "cache_n",
        "spec_decode_num_drafts_total": "draft_rounds",
    }  # fmt: skip
    before = {name: tiny_server.metric(name) for name in names}
    with ThreadPoolExecutor(len(ASKED)) as pool:
        beside = list(pool.map(answer, range(len(ASKED))))
    assert [each["choices"] for each in beside] == [each["choices"] for each in alone]
    gained = {name: tiny_server.metric(name) - before[name] for name in names}
    assert gained == {name: sum(each["timings"][of] for each in beside) for name, of in names.items()}


@pytest.mark.parametrize("stream", [True, False])
async def test_the_engine_is_told_whether_somebody_reads_along(stream: bool) -> None:
    class FullQueue(RequestQueue):
        """Refuses what it is asked, and keeps it."""

        asked: list[Answer]

        def join(self, requests: Any) -> Any:
            self.asked = requests
            raise Problem(429, "full")

    queue = FullQueue(cast("Any", None), print, at_once=1)
    with pytest.raises(Problem):
        writer = ChatWriter("a model", False, 1)
        await respond(
            Request({"type": "http"}), queue, [Answer(0, "hi", AnswerOptions())], writer, stream=stream
        )
    assert [each.streamed for each in queue.asked] == [stream]


def test_a_short_answer_waits_for_no_long_one(tiny_server: RunningServer) -> None:
    with tiny_server.asking(CHAT, chat_body("hello", max_tokens=3000, stream=True)):
        tiny_server.wait_for("num_requests_running", 1)
        assert tiny_server.chat("hi", max_tokens=4).status == 200
        assert tiny_server.metric("num_requests_running") == 1


def test_no_more_are_with_the_engine_than_asked_for_and_its_death_ends_only_these(
    kept: RunningServer,
) -> None:
    with ThreadPoolExecutor(3) as pool:
        slow = pool.submit(kept.chat, "slow")
        kept.wait_for("num_requests_running", 1)
        crash = pool.submit(kept.chat, "crash")
        kept.wait_for("num_requests_running", 2)
        waiting = pool.submit(kept.chat, "hello")
        assert [each.result(20).status for each in (slow, crash, waiting)] == [503, 503, 200]


@pytest.mark.parametrize(("at_once", "said"), [(1, 0), (2, 1)])
async def test_it_is_said_of_a_pair_that_writes_one_answer_at_a_time(
    at_once: int, said: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    link = Mock()
    monkeypatch.setattr(service, "EngineLink", lambda *_: link)
    with service.opened(PairSpec("mamba", Source("x"), None), AnswerOptions(), at_once, print, print):
        link.listener(Loaded(PairInfo("mamba", 4096, "cpu", 1, batches=False)))
        link.listener(Loaded(PairInfo("mamba", 4096, "cpu", 1)))
    link.close.assert_called_once_with()
    assert capsys.readouterr().err.count("mamba can write only one answer at a time") == said


async def test_it_is_said_that_a_pair_does_not_obey_think(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    link = Mock()
    monkeypatch.setattr(service, "EngineLink", lambda *_: link)
    pair = PairSpec("qwen", Source("x"), None)
    with service.opened(pair, AnswerOptions(think="low"), 1, print, print):
        link.listener(Loaded(PairInfo("qwen", 4096, "cpu", 1, thinks=("auto", "on", "off"))))
    assert capsys.readouterr().err == "think low changes nothing: qwen obeys auto, on, off.\n"


def test_a_client_that_leaves_in_the_middle_of_a_burst_leaves_no_word_in_the_log(
    tiny_server: RunningServer,
) -> None:
    """The answers after the first are complete by then, so they are written without a pause."""
    begun = len(tiny_server.lines)
    asked = chat_body("hello", n=32, max_tokens=12, stream=True)
    for _ in range(3):
        with tiny_server.asking(CHAT, asked) as connection:
            while b'"index": 1, "delta": {"content"' not in connection.recv(65_536):
                pass
    tiny_server.wait_for("num_requests_running", 0)
    assert not [line for line in tiny_server.lines[begun:] if "socket" in line]


def test_a_comparison_over_http_drafts_nothing_from_its_answer_before(scripted_server: RunningServer) -> None:
    for fresh in (False, True):
        answer = {
            "id": 0,
            "prompt": [{"role": "user", "content": "echo afresh"}],
            "options": {},
            "fresh": fresh,
        }
        lines = scripted_server.ask("/mlx-spec/answer", {"answer": answer, "call": "1"}).body.splitlines()
        last = LINE.validate_json(lines[-1])
        assert isinstance(last, TurnEnded) and last.text.endswith("|fresh") is fresh
