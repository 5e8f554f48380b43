"""Requests that are answered side by side."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from app.engine.protocol import Answer
from app.server.answering import respond
from app.server.chat_completions import ChatWriter
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest, RequestQueue
from mlx_spec.types import Options
from tests.app.server.running_server import SCRIPTED, RunningServer, chat_body, running

PATH = "/v1/chat/completions"
ASKED: list[dict[str, Any]] = [
    {"temperature": temperature, "seed": seed, "max_tokens": tokens, "draft": draft}
    for seed, (temperature, tokens, draft) in enumerate(
        [
            (0, 20, {}),
            (0.8, 6, {"length": 1}),
            (1.2, 24, {"drafter": "none"}),
            (0, 12, {"verify": "block"}),
            (0.8, 16, {"drafter": "lookup", "length": 4}),
            (0.9, 1, {}),
        ]
    )
]


def test_texts_are_those_of_requests_that_are_alone(tiny_server: RunningServer) -> None:
    saying = [f"hello {'there ' * 5 * number}" for number in range(len(ASKED))]
    alone = [tiny_server.chat(said, **asked).json for said, asked in zip(saying, ASKED, strict=True)]
    before = tiny_server.metric("generation_tokens_total")
    with ThreadPoolExecutor(len(ASKED)) as pool:
        beside = list(pool.map(lambda said, asked: tiny_server.chat(said, **asked).json, saying, ASKED))
    assert [each["choices"] for each in beside] == [each["choices"] for each in alone]
    tokens = sum(each["usage"]["completion_tokens"] for each in alone)
    assert tiny_server.metric("generation_tokens_total") == before + tokens


class FullQueue(RequestQueue):
    """Refuses what it is asked, and keeps it."""

    def __init__(self) -> None:
        self.asked: list[Answer] = []

    def join(self, requests: Sequence[Answer]) -> list[QueuedRequest]:
        self.asked += requests
        raise Problem(429, "full")


@pytest.mark.parametrize("stream", [True, False])
async def test_the_engine_is_told_whether_somebody_reads_along(stream: bool) -> None:
    queue, ask, writer = FullQueue(), Answer(0, "hi", Options()), ChatWriter("a model", False, 1)
    with pytest.raises(Problem):
        await respond(Request({"type": "http"}), queue, [ask], writer, stream=stream)
    assert [each.streamed for each in queue.asked] == [stream]


def test_a_short_answer_waits_for_no_long_one(tiny_server: RunningServer) -> None:
    with tiny_server.asking(PATH, chat_body("hello", max_tokens=3000, stream=True)):
        tiny_server.wait_for("num_requests_running", 1)
        assert tiny_server.chat("hi", max_tokens=4).status == 200
        assert tiny_server.metric("num_requests_running") == 1


def test_no_more_are_with_the_engine_than_asked_for_and_its_death_ends_only_these(tmp_path: Path) -> None:
    with running(tmp_path, ["scripted", "2"], program=SCRIPTED) as server, ThreadPoolExecutor(4) as pool:
        slow = pool.submit(server.chat, "slow")
        server.wait_for("num_requests_running", 1)
        crash = pool.submit(server.chat, "crash")
        server.wait_for("num_requests_running", 2)
        waiting = pool.submit(server.chat, "hello")
        assert [each.result(20).status for each in (slow, crash, waiting)] == [503, 503, 200]


def test_on_one_of_several_macs_the_engines_death_ends_the_server(tmp_path: Path) -> None:
    with running(tmp_path, [], program=SCRIPTED, MLX_RANK="0") as server:
        assert server.chat("crash").status == 503 and server.process.wait(20)
    assert "Start all of them again." in server.lines[-1]


def test_a_client_that_leaves_in_the_middle_of_a_burst_leaves_no_word_in_the_log(
    tiny_server: RunningServer,
) -> None:
    """The answers after the first are complete by then, so they are written without a pause."""
    begun = len(tiny_server.lines)
    asked = chat_body("hello", n=32, max_tokens=12, stream=True)
    for _ in range(3):
        with tiny_server.asking(PATH, asked) as connection:
            while b'"index": 1, "delta": {"content"' not in connection.recv(65_536):
                pass
    tiny_server.wait_for("num_requests_running", 0)
    assert not [line for line in tiny_server.lines[begun:] if "socket" in line]
