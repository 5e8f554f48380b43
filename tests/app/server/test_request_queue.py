"""The request queue: order, limit, clients that leave, an engine that dies, shutdown."""

import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

import pytest

from app.chat.engine_link import EngineLink
from app.engine.protocol import Answer
from app.server.metrics import Metrics
from app.server.problem import Problem
from app.server.request_queue import MOST_WAITING, RequestQueue
from app.settings.options import AnswerOptions
from models.pairs.pair import PairSpec, Source
from tests.app.server.running_server import CHAT, RunningServer, chat_body
from tests.waiting import until


def test_a_client_that_hangs_up_ends_its_answer_within_a_round(scripted_server: RunningServer) -> None:
    """The scripted answer would go on for half an hour, at 20 ms a round."""
    before = scripted_server.metric("request_success_total", 'finished_reason="cancelled"')
    for stream in (True, False):
        seconds: list[float] = []
        for _ in range(3):  # a busy machine only makes some of them longer
            with scripted_server.asking(CHAT, chat_body("slow", stream=stream)):
                scripted_server.wait_for("num_requests_running", 1)
                time.sleep(0.1)
                left = time.monotonic()
            scripted_server.wait_for("num_requests_running", 0)
            seconds.append(time.monotonic() - left)
        assert min(seconds) < 1
        assert scripted_server.chat("hello").status == 200
    cancelled = scripted_server.metric("request_success_total", 'finished_reason="cancelled"')
    assert cancelled == before + 6


def test_a_client_that_hangs_up_in_line_is_never_answered(scripted_server: RunningServer) -> None:
    before = scripted_server.metric("request_success_total")
    with scripted_server.asking(CHAT, chat_body("slow", stream=True)):
        scripted_server.wait_for("num_requests_running", 1)
        for stream in (True, False):
            with scripted_server.asking(CHAT, chat_body("hello", stream=stream)):
                scripted_server.wait_for("num_requests_waiting", 1)
            scripted_server.wait_for("num_requests_waiting", 0)
    scripted_server.wait_for("num_requests_running", 0)
    assert scripted_server.metric("request_success_total") == before + 1


def test_a_full_line_says_when_to_ask_again(scripted_server: RunningServer) -> None:
    with ThreadPoolExecutor(4) as pool:
        with scripted_server.asking(CHAT, chat_body("slow", stream=True)):
            scripted_server.wait_for("num_requests_running", 1)
            waiting = [pool.submit(scripted_server.chat, "hello") for _ in range(4)]
            scripted_server.wait_for("num_requests_waiting", 4)
            for stream in (False, True):
                refused = scripted_server.chat("hello", stream=stream)
                assert refused.status == 429 and refused.error["type"] == "rate_limit_error"
                assert int(refused.headers["retry-after"]) >= 5
    assert [each.result().status for each in waiting] == [200] * 4


def test_requests_are_answered_in_the_order_of_their_arrival(scripted_server: RunningServer) -> None:
    """The server's last lines say in this order how many tokens each had."""
    counts = [2, 4, 6]

    def answered() -> list[int]:
        ends = [re.search(r" (\d+) tokens, .*(length|stop)$", line) for line in scripted_server.lines]
        return [int(end[1]) for end in ends if end][-3:]

    with ThreadPoolExecutor() as pool:
        with scripted_server.asking(CHAT, chat_body("slow", stream=True)):
            for waiting, count in enumerate(counts, 1):
                pool.submit(scripted_server.chat, "hello", max_tokens=count)
                scripted_server.wait_for("num_requests_waiting", waiting)
    until(lambda: answered() == counts)


def test_tokens_are_counted_while_others_are_answered_and_wait(scripted_server: RunningServer) -> None:
    with scripted_server.asking(CHAT, chat_body("slow", stream=True)):
        scripted_server.wait_for("num_requests_running", 1)
        with scripted_server.asking(CHAT, chat_body("hello")):
            scripted_server.wait_for("num_requests_waiting", 1)
            for _ in range(2):
                assert scripted_server.ask("/v1/messages/count_tokens", chat_body("hi")).json == {
                    "input_tokens": 10
                }
            assert scripted_server.metric("num_requests_waiting") == 1


def test_an_engine_that_dies_is_said_and_started_again(scripted_server: RunningServer) -> None:
    whole = scripted_server.chat("crash")
    assert whole.status == 503 and "SIGKILL" in whole.error["message"] and whole.headers["retry-after"]
    scripted_server.wait_until_loaded()  # asking for it is enough
    streamed = scripted_server.chat("crash", stream=True)
    assert streamed.status == 200 and b"[DONE]" not in streamed.body
    *_, last = streamed.events
    assert last["error"]["type"] == "server_error"
    assert scripted_server.chat("hello").status == 200


async def test_a_request_is_told_that_no_engine_can_be_started() -> None:
    def start() -> None:
        raise OSError(None, "No such file")

    engine: Any = SimpleNamespace(alive=False, start=start, poll=list, send=lambda request: None)
    link = EngineLink(engine, PairSpec("scripted", Source("x"), None))
    (asked,) = RequestQueue(link, lambda *_: None, at_once=1).join([Answer(0, "hello", AnswerOptions())])
    with pytest.raises(Problem, match="cannot be started: No such file") as told:
        await asked.next(5)
    assert told.value.status == 503


async def test_at_the_end_a_request_is_told_so_though_the_engine_is_busy() -> None:
    """It loads a pair, or is in a long pass: the client got 500 and no reason."""
    link: Any = SimpleNamespace(send=lambda *_: 1, pump=lambda: None, cancel=lambda number: None)
    queue = RequestQueue(link, print, at_once=1)
    (asked,) = queue.join([Answer(0, "hello", AnswerOptions())])
    queue.end(0.01)
    with pytest.raises(Problem, match="cut off: the server is shutting down") as told:
        await asked.next(5)
    assert told.value.status == 503


async def test_a_request_that_is_complete_only_after_the_end_began_is_told_so() -> None:
    """It was begun, and at the end of its time the client got 500 "Internal Server Error"."""
    queue = RequestQueue(cast("Any", None), print, at_once=1)
    queue.end(0.01)
    with pytest.raises(Problem, match="the server is shutting down") as told:
        queue.join([Answer(0, "hello", AnswerOptions())])
    assert told.value.status == 503


async def test_a_request_that_only_counts_tokens_takes_no_place_from_an_answer() -> None:
    sent: list[Answer] = []
    link: Any = SimpleNamespace(send=lambda _, request: sent.append(request), pump=lambda: None)
    queue = RequestQueue(link, print, at_once=1)
    for counts in (True, False, True):
        queue.join([Answer(0, "hello", AnswerOptions(), counts=counts)])
    assert [each.counts for each in sent] == [True, False, True] and not queue.waiting


async def test_requests_that_only_count_tokens_have_a_limit_too() -> None:
    """Else texts of 8 MB from 256 connections would be with the engine at once."""
    link: Any = SimpleNamespace(send=lambda *_: 0, pump=lambda: None)
    queue, counting = RequestQueue(link, print, at_once=2), Answer(0, "hello", AnswerOptions(), counts=True)
    queue.join([counting] * (MOST_WAITING + 1))
    queue.join([Answer(0, "hello", AnswerOptions())])
    with pytest.raises(Problem, match=f"{MOST_WAITING + 2} requests") as told:
        queue.join([counting])
    assert told.value.status == 429


def test_an_engine_that_fails_is_not_asked_again_by_itself(scripted_server: RunningServer) -> None:
    answer = scripted_server.chat("fail")
    assert answer.status == 500 and answer.headers["x-should-retry"] == "false"
    assert "ValueError at scripted_engine.py" in answer.error["message"]
    refused = scripted_server.chat("refuse")
    assert (refused.status, refused.error["code"]) == (400, None), "it is not too long"


def test_both_loopback_addresses_answer(scripted_server: RunningServer) -> None:
    assert scripted_server.chat("hello").status == 200  # starts the engine if the test before ended it
    _, port = scripted_server.address
    with socket.create_connection(("::1", port), timeout=10) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n")
        assert b'"ok"' in b"".join(iter(lambda: connection.recv(1000), b""))


def test_metrics_are_counters_in_the_format_of_prometheus(scripted_server: RunningServer) -> None:
    names = {
        "prompt_tokens_total": "prompt_n", "generation_tokens_total": "predicted_n",
        "spec_decode_num_drafts_total": "draft_rounds", "spec_decode_num_draft_tokens_total": "draft_n",
        "spec_decode_num_accepted_tokens_total": "draft_n_accepted",
        "spec_decode_num_accepted_tokens_per_pos_total": "draft_n_accepted",
    }  # fmt: skip
    before = {name: scripted_server.metric(name) for name in names}
    timings = scripted_server.chat("hello").json["timings"]
    gained = {name: scripted_server.metric(name) - before[name] for name in names}
    assert gained == {name: timings[of] for name, of in names.items()} and all(gained.values())
    for said, reason in {"refuse": "refused", "fail": "error"}.items():
        count = scripted_server.metric("request_success_total", reason)
        scripted_server.chat(said)
        assert scripted_server.metric("request_success_total", reason) == count + 1
    text = scripted_server.ask("/metrics")
    assert text.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in text.body.decode().splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or float(line.split()[-1]) >= 0
    queue = RequestQueue(cast("Any", None), print, at_once=1)
    assert r'{model_name="a\\b\"c\nd"} 0' in Metrics().text(queue, 'a\\b"c\nd')
