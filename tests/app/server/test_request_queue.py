"""The request queue: order, limit, clients that leave, an engine that dies, shutdown."""

import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.app.server.running_server import SCRIPTED, RunningServer, chat_body, running

PATH = "/v1/chat/completions"


def test_a_client_that_hangs_up_ends_its_answer_within_a_round(scripted_server: RunningServer) -> None:
    """The scripted answer would go on for half an hour, at 20 ms a round."""
    before = scripted_server.metric("request_success_total", 'finished_reason="cancelled"')
    for stream in (True, False):
        seconds: list[float] = []
        for _ in range(3):  # a busy machine only makes some of them longer
            with scripted_server.asking(PATH, chat_body("slow", stream=stream)):
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
    with scripted_server.asking(PATH, chat_body("slow", stream=True)):
        scripted_server.wait_for("num_requests_running", 1)
        for stream in (True, False):
            with scripted_server.asking(PATH, chat_body("hello", stream=stream)):
                scripted_server.wait_for("num_requests_waiting", 1)
            scripted_server.wait_for("num_requests_waiting", 0)
    scripted_server.wait_for("num_requests_running", 0)
    assert scripted_server.metric("request_success_total") == before + 1


def test_a_full_line_says_when_to_ask_again(scripted_server: RunningServer) -> None:
    answers: list[int] = []
    with scripted_server.asking(PATH, chat_body("slow", stream=True)):
        scripted_server.wait_for("num_requests_running", 1)
        asking = [
            threading.Thread(target=lambda: answers.append(scripted_server.chat("hello").status))
            for _ in range(4)
        ]
        for each in asking:
            each.start()
        scripted_server.wait_for("num_requests_waiting", 4)
        for stream in (False, True):
            refused = scripted_server.chat("hello", stream=stream)
            assert refused.status == 429 and refused.error["type"] == "rate_limit_error"
            assert int(refused.headers["retry-after"]) > 0
    for each in asking:
        each.join(20)
    assert answers == [200] * 4


def test_requests_are_answered_in_the_order_of_their_arrival(scripted_server: RunningServer) -> None:
    """The server's last lines say in this order how many tokens each had."""
    counts = [2, 4, 6]

    def answered() -> list[int]:
        ends = [re.search(r" (\d+) tokens at .*(length|stop)$", line) for line in scripted_server.lines]
        return [int(end[1]) for end in ends if end][-3:]

    with ThreadPoolExecutor() as pool:
        with scripted_server.asking(PATH, chat_body("slow", stream=True)):
            for waiting, count in enumerate(counts, 1):
                pool.submit(scripted_server.chat, "hello", max_tokens=count)
                scripted_server.wait_for("num_requests_waiting", waiting)
    until = time.monotonic() + 10
    while answered() != counts:
        assert time.monotonic() < until, answered()
        time.sleep(0.01)


def test_an_engine_that_dies_is_said_and_started_again(scripted_server: RunningServer) -> None:
    whole = scripted_server.chat("crash")
    assert whole.status == 503 and "SIGKILL" in whole.error["message"] and whole.headers["retry-after"]
    until = time.monotonic() + 20
    while scripted_server.ask("/health").status != 200:  # asking for it is enough
        assert time.monotonic() < until
        time.sleep(0.05)
    streamed = scripted_server.chat("crash", stream=True)
    assert streamed.status == 200 and b"[DONE]" not in streamed.body
    *_, last = streamed.events
    assert last["error"]["type"] == "server_error"
    assert scripted_server.chat("hello").status == 200


def test_those_who_wait_are_answered_by_the_engine_started_again(scripted_server: RunningServer) -> None:
    answers: list[int] = []
    asking = [
        threading.Thread(target=lambda said=said: answers.append(scripted_server.chat(said).status))
        for said in ("crash", "hello", "hello")
    ]
    for each in asking:
        each.start()
        time.sleep(0.02)
    for each in asking:
        each.join(20)
    assert sorted(answers) == [200, 200, 503]


def test_an_engine_that_fails_is_not_asked_again_by_itself(scripted_server: RunningServer) -> None:
    answer = scripted_server.chat("fail")
    assert answer.status == 500 and answer.headers["x-should-retry"] == "false"
    assert "scripted failure" in answer.error["message"]


def test_while_the_pair_loads_health_says_so_and_requests_wait(tmp_path: Path) -> None:
    answers: list[int] = []
    with running(tmp_path, ["slow to load"], program=SCRIPTED, loads=False) as server:
        health = server.ask("/health")
        assert health.status == 503 and health.json == {"status": "loading"}
        asking = threading.Thread(target=lambda: answers.append(server.chat("hello").status))
        asking.start()
        server.wait_for("num_requests_running", 1)
        (tmp_path / "load").touch()
        asking.join(20)
        assert answers == [200] and server.ask("/health").json == {"status": "ok"}


def test_a_pair_that_cannot_be_loaded_ends_the_server_with_its_reason(tmp_path: Path) -> None:
    with running(tmp_path, ["absent"], program=SCRIPTED, loads=False) as server:
        assert server.process.wait(20) == 1
    assert "mlx-spec pull absent" in server.lines[-1]


def test_the_server_ends_at_once_with_clients_that_read_and_each_request_is_a_line_and_nothing_of_its_text(
    tmp_path: Path,
) -> None:
    with running(tmp_path, [], program=SCRIPTED) as server:
        server.chat("secret words, echo")
        server.chat("hello", stream=True)
        server.ask(PATH, b'{"messages": [{"role": "user", "content": "more secret words"')
        server.chat("secret words", n=99)
        server.chat("refuse")
        server.ask("/v1/models", headers={"Origin": "http://secret.example"})
        with server.asking(PATH, chat_body("slow", stream=True)) as connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
            began = time.monotonic()
            assert server.end() == 0
            assert time.monotonic() - began < 8
            assert b"shutting down" in b"".join(iter(lambda: connection.recv(1_000_000), b""))
    assert server.lines[-1] == "Stopped.\n", server.lines
    assert len([line for line in server.lines if "first after" in line]) == 3
    assert [line for line in server.lines if line.startswith("4")] == [
        f"400: POST {PATH} (invalid_json)\n",
        f"400: POST {PATH} (n)\n",
        f"400: POST {PATH}\n",
        "403: GET /v1/models (origin_not_allowed)\n",
    ]
    assert not [line for line in server.lines if "secret" in line or "target" in line]
    assert "secret" not in (tmp_path / "engine.log").read_text()


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
    text = scripted_server.ask("/metrics")
    assert text.headers["content-type"].startswith("text/plain; version=0.0.4")
    for line in text.body.decode().splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or float(line.split()[-1]) >= 0
