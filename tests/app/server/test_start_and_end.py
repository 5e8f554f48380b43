"""A server that loads its pair, fails to, or ends."""

import json
import os
import re
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import pytest
import uvicorn

from app.chat.engine_link import EngineDied, EngineLink
from app.engine.events import TurnEnded
from app.engine.protocol import Answered, AnswerFailed, Loaded
from app.engine.server_client import ServerClient
from app.server import run, service
from app.server.endpoints import health
from app.server.gate import MOST_CONNECTIONS
from app.server.metrics import Metrics
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput, MachineFailed
from models.pairs.pair import PairSpec, Source
from tests.app.engine.exchange import ask, ended, exchange
from tests.app.server import scripted_server
from tests.app.server.running_server import CHAT, SCRIPTED, RunningServer, chat_body, running
from tests.app.server.test_chat_over_http import is_text, pair


def test_requests_wait_while_the_pair_loads_and_the_end_is_told_and_no_text_of_a_request_is_logged(
    tmp_path: Path,
) -> None:
    with running(tmp_path, ["slow to load", "2"], program=SCRIPTED, loads=False) as server:
        health = server.ask("/health")
        assert health.status == 503 and health.json == {"status": "loading"}
        loading = server.ask("/mlx-spec/pair")
        assert loading.status == 503 and "not loaded yet" in loading.error["message"]
        chat = ServerClient(server.url)
        chat.send(pair(chat.pair_name()))
        (model,) = server.ask("/v1/models").json["data"]
        assert (model["context_length"], model["drafters"]) == (None, [])
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(server.chat, "secret words, echo")
            server.wait_for("num_requests_running", 1)
            assert chat.poll() == [], "a chat waits too"
            (tmp_path / "load").touch()
        assert [type(event) for event in exchange(chat, until=bool)] == [Loaded]
        assert waiting.result().status == 200 and server.ask("/health").json == {"status": "ok"}
        (model,) = server.ask("/v1/models").json["data"]
        assert (model["context_length"], model["drafters"]) == (4096, ["lookup", "model"])
        server.ask(CHAT, b'{"messages": [{"role": "user", "content": "more secret words"')
        server.chat("secret words", n=99)
        server.chat("refuse")
        server.chat("fail")
        server.ask("/v1/models", headers={"Origin": "http://secret.example"})
        server.ask("/v1/%0A403:%20forged")
        server.ask(CHAT, method="M" * 10_000)
        exchange(chat, ask(2, "refuse"), until=ended(2))
        slow = ask(1, "slow", AnswerOptions(max_tokens=10_000))
        exchange(chat, slow, until=lambda events: any(map(is_text, events)))
        with server.asking(CHAT, chat_body("slow", stream=True)) as connection:
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
            began = time.monotonic()
            assert server.end(signal.SIGTERM) == 0
            assert time.monotonic() - began < 8
            assert b"shutting down" in b"".join(iter(lambda: connection.recv(1_000_000), b""))
    *_, last = exchange(chat, until=ended(1))
    match last:
        case Answered(1, TurnEnded() as cut):
            assert cut.finish_reason == "cancelled"
        case _:
            assert isinstance(last, AnswerFailed)
    with pytest.raises(BadInput, match="No server answers at .*mlx-spec serve"):
        chat.pair_name()
    chat.close()
    assert server.lines[-1] == "Stopped.\n", server.lines
    assert len([line for line in server.lines if "cached), " in line]) == 3
    assert [line for line in server.lines if line.startswith("4")] == [
        f"400: POST {CHAT} (invalid_json)\n",
        f"400: POST {CHAT} (n)\n",
        f"400: POST {CHAT}\n",
        "403: GET /v1/models (origin_not_allowed)\n",
        "404: GET /v1/ 403: forged\n",
        f"405: {'M' * 100}\n",
        "400: POST /mlx-spec/answer\n",
    ]
    (failed,) = (line for line in server.lines if line.startswith("failed: "))
    assert "ValueError at scripted_engine.py" in failed
    assert not [line for line in server.lines if "secret" in line or "target" in line]
    log = (tmp_path / "engine.log").read_text()
    assert "Traceback" in log and "secret" not in log.replace('raise ValueError("the secret words fail")', "")


@pytest.mark.parametrize(
    ("state", "tuning", "status"),
    [
        ("ready", None, "ok"),
        ("ready", "1 of 9", "loading"),
        ("loading", None, "loading"),
        ("dead", None, "failed"),
    ],
)
async def test_health_is_ok_where_an_answer_would_begin_without_delay(
    state: str, tuning: str | None, status: str
) -> None:
    link: Any = SimpleNamespace(state=state, tuning=tuning, wake=lambda: None, pump=lambda: None)
    answer = await health(asked(link))
    assert json.loads(bytes(answer.body)) == {"status": status}
    assert answer.status_code == (200 if status == "ok" else 503)


async def test_health_has_failed_where_no_engine_can_be_started() -> None:
    def start() -> None:
        raise OSError(None, "No such file")

    engine: Any = SimpleNamespace(alive=False, start=start, poll=list, send=lambda request: None)
    answer = await health(asked(EngineLink(engine, PairSpec("scripted", Source("x"), None))))
    assert (answer.status_code, json.loads(bytes(answer.body))) == (503, {"status": "failed"})


def asked(link: EngineLink) -> Any:
    """A request to a server with this link."""
    served = SimpleNamespace(service=SimpleNamespace(link=link))
    return SimpleNamespace(app=SimpleNamespace(state=served))


@pytest.mark.parametrize("while_answering", [False, True])
async def test_an_engine_that_ends_while_nobody_asks_is_logged(
    while_answering: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else its requests are: a server whose pair lacked memory while it loaded printed nothing."""
    link = Mock()
    monkeypatch.setattr(service, "EngineLink", lambda *_: link)
    with service.opened(pair("large").pair, AnswerOptions(), 1, print, print):
        link.listener(EngineDied("It lacked memory.", while_answering))
    assert capsys.readouterr().err == ("" if while_answering else "It lacked memory.\n")


def test_a_host_or_a_port_that_cannot_be_used_is_the_one_that_is_named() -> None:
    def serve(host: str, port: int) -> None:
        run.run_server(cast("Any", None), AnswerOptions(), host=host, port=port, key="k", at_once=1)

    for host in ("badname.invalid", "192.0.2.1"):
        with pytest.raises(BadInput, match=f"^--host {host} is not an address of this machine"):
            serve(host, 0)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(MachineFailed, match=f"^Port {port} of localhost .* in use.*--port"):
            serve("localhost", port)


def test_an_address_with_colons_is_printed_as_a_browser_takes_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ports: list[int] = []

    async def ended_at_once(server: object, sockets: Sequence[socket.socket]) -> None:
        ports.extend(each.getsockname()[1] for each in sockets)

    monkeypatch.setattr(service, "EngineLink", Mock())
    monkeypatch.setattr(uvicorn.Server, "serve", ended_at_once)
    run.run_server(pair("any").pair, AnswerOptions(), host="::1", port=0, key=None, at_once=1)
    (port,) = ports
    assert f" at http://[::1]:{port}/v1 (" in capsys.readouterr().out


def test_as_many_files_may_be_open_as_connections_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """At macOS' 256 the last connections hung, and thousands of lines a second were logged."""
    _, hard = before = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(run, "_listen", Mock(side_effect=InterruptedError))
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        with pytest.raises(InterruptedError):
            run.run_server(pair("any").pair, AnswerOptions(), host="::1", port=0, key=None, at_once=1)
        allowed, still = resource.getrlimit(resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert allowed >= 2 * MOST_CONNECTIONS and still == hard


@pytest.fixture
def ends_in_time() -> Iterator[None]:
    """A server in this process is ended after 20 seconds."""
    timer = threading.Timer(20, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    yield
    timer.cancel()


@pytest.mark.usefixtures("ends_in_time")
def test_a_pair_that_cannot_be_loaded_ends_the_server_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(BadInput, match="mlx-spec pull absent"):
        scripted_server.serve("absent", monkeypatch.setattr)
    assert "Stopped." not in capsys.readouterr().err, "it ended by itself"


def ask_meanwhile(ask: Callable[[RunningServer], object], patch: pytest.MonkeyPatch) -> None:
    """Serve here, until `ask` has been called with the server on another thread and it ends."""
    listening = run._listen("127.0.0.1", 0)  # kept: another program may take a port that is only chosen
    patch.setattr(run, "_listen", lambda *_: listening)
    server = RunningServer(cast("Any", None), run._url(listening[0]))
    asking = threading.Thread(target=lambda: (server.wait_until_loaded(), ask(server)))
    asking.start()
    try:
        scripted_server.serve("scripted", patch.setattr)
    finally:
        asking.join(20)


@pytest.mark.usefixtures("ends_in_time")
@pytest.mark.parametrize(("said", "status"), [("crash", 503), ("lost", 500)])
def test_on_one_of_several_macs_the_end_of_an_engine_ends_the_server(
    said: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLX_RANK", "0")
    statuses: list[int] = []
    with pytest.raises(MachineFailed, match="Start all of them again.|Another Mac is gone."):
        ask_meanwhile(lambda server: statuses.append(server.chat(said).status), monkeypatch)
    assert statuses == [status]


@pytest.mark.usefixtures("ends_in_time")
def test_a_defect_of_the_server_is_logged_by_its_type_and_place_and_quotes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Metrics, "count", Mock(side_effect=ValueError("secret words")))
    texts: list[str] = []

    def ask(server: RunningServer) -> None:
        texts.append(server.text("hello"))
        server.wait_for("num_requests_running", 0)
        signal.raise_signal(signal.SIGINT)

    ask_meanwhile(ask, monkeypatch)
    said = capsys.readouterr().err
    assert texts and re.search(r"^failed: ValueError at mock.py:\d+$", said, re.M) and "secret" not in said
