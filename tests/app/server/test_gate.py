"""Access checks: the name in Host, the Origin, the key, the type and size of a body."""

import asyncio
import gzip
import json
import socket
import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from app.cli import main
from app.engine.server_client import ServerClient
from app.server import gate
from app.server.body import MOST_BODY_BYTES, Body, check_size, read_body
from app.server.endpoints import ROUTES
from app.server.gate import check_address, check_key
from app.server.problem import Problem
from tests.app.run_command import Cli
from tests.app.server.running_server import CHAT, JSON, RunningServer, chat_body

SLOW_READER_SECONDS, MOST_CONNECTIONS = 1.0, 32
"""The limits of the scripted server."""
AS_JSON = [(b"content-type", b"application/json")]
KEY = "schlüssel".encode()
ORIGIN = "http://localhost:3000"


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_every_route_but_health_needs_the_key(kept: RunningServer, route) -> None:
    path = route.path.replace("{name:path}", "scripted")
    for method in route.methods - {"HEAD"}:
        body = {} if method == "POST" else None
        wrong = {"Authorization": b"Bearer " + KEY[:-1]}, {"x-api-key": b""}, {"Authorization": KEY + b"x"}
        for headers in ({}, *wrong):
            answer = kept.ask(path, body, {**JSON, **headers})
            assert answer.status == (200 if path == "/health" else 401)
        basic = {"Authorization": b"Basic dXNlcjp4", "x-api-key": KEY}  # as behind one's own proxy
        bearers = [{"Authorization": scheme + KEY} for scheme in (b"Bearer ", b"bearer  ")]
        for right in (*bearers, {"x-api-key": KEY}, basic):
            assert kept.ask(path, body, {**JSON, **right}).status in (200, 400)
    assert kept.ask("/nowhere", headers={}).status == 401


async def test_what_just_reaches_a_limit_is_accepted() -> None:
    passed, sends = AsyncMock(), AsyncMock()
    scope = {"type": "http", "method": "GET", "path": "/", "server": ("::1", 1), "headers": [(b"host", b"x")]}
    await gate.Gate(passed, ["x"], (), None, lambda: gate.MOST_CONNECTIONS)(scope, sends, sends)
    passed.assert_awaited_once()
    check_size(MOST_BODY_BYTES)


@pytest.mark.parametrize("key", ["voilà", "СЕРВЕР", "успех"])
def test_a_keys_last_letter_is_no_blank(key: str) -> None:
    """Their last bytes are blanks in Latin-1, as which headers are read."""
    check_key(Headers(raw=[(b"authorization", b"Bearer  " + key.encode() + b" ")]), key)


def test_a_key_that_is_no_utf_8_is_sent_and_compared_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[bytes, bytes]] = []
    monkeypatch.setattr("httpx2.Client", lambda **given: sent.append(given["headers"]))
    ServerClient("http://localhost:1", "k\udcff")
    assert sent == [{b"authorization": b"Bearer k\xff"}]
    check_key(Headers(raw=[*sent[0].items()]), "k\udcff")
    with pytest.raises(Problem, match="wrong"):
        check_key(Headers(raw=[(b"authorization", b"Bearer k")]), "k\udcff")


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost", True), ("LOCALHOST:1", True), ("127.0.0.1:99", True), ("[::1]:8080", True),
        ("listed.example:1", True), ("evil.example", False), ("localhost.evil.example", False),
        ("evil.example:8080", False), ("", False), ("[", False), ("127.0.0.1.nip.example", False),
        ("user@localhost@evil", False), ("evil.example@localhost", False), ("localhost#evil.example", False),
        ("localhost/evil.example", False), ("localhost:port", False), ("::1", False), ("localhost.", False),
    ],
)  # fmt: skip
def test_the_name_in_host_must_be_ours(kept: RunningServer, host: str, allowed: bool) -> None:
    answer = kept.ask("/health", headers={"Host": host})
    assert answer.status == (200 if allowed else 403), answer.body


def test_a_listed_name_and_the_servers_own_address_are_ours() -> None:
    names = ["Mac.local", "192.168.1.7"]
    for host in ("mac.LOCAL:8080", "192.168.1.7:8080"):
        check_address(Headers({"host": host}), names, ())
    with pytest.raises(Problem, match="--allow-host"):
        check_address(Headers({"host": "192.168.1.8:8080"}), names, ())


def test_what_cannot_be_listed_is_told_what_to_do_instead() -> None:
    with pytest.raises(Problem, match=r"the host name ''\. Send its own name in the Host header"):
        check_address(Headers(), ["localhost"], ())
    with pytest.raises(Problem, match=r"Web pages of 'null' .* from a web server"):
        check_address(Headers({"host": "localhost", "origin": "null"}), ["localhost"], ())


def test_a_page_may_ask_only_if_it_is_listed(kept: RunningServer) -> None:
    key = {"x-api-key": KEY}
    for origin in ("http://evil.example", "null", "", "http://localhost:30000", ORIGIN + "/"):
        answer = kept.ask("/v1/models", headers={**key, "Origin": origin})
        assert answer.status == 403 and "access-control-allow-origin" not in answer.headers
    answer = kept.ask("/v1/models", headers={**key, "Origin": ORIGIN})
    assert answer.status == 200 and answer.headers["access-control-allow-origin"] == ORIGIN
    asking = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    for origin, status in ((ORIGIN, 200), ("http://evil.example", 400)):
        for more in ({}, {"Access-Control-Request-Private-Network": "true"}):  # as Chrome's
            preflight = {**asking, **more, "Origin": origin}
            assert kept.ask(CHAT, headers=preflight, method="OPTIONS").status == status


def test_without_listed_pages_no_header_speaks_of_origins(scripted_server: RunningServer) -> None:
    answer = scripted_server.ask("/v1/models")
    assert answer.status == 200 and not any(name.startswith("access-control") for name in answer.headers)
    assert scripted_server.ask("/v1/models", headers={"Origin": scripted_server.url}).status == 403


def test_a_body_must_be_declared_as_json_and_may_not_be_large(scripted_server: RunningServer) -> None:
    body = json.dumps(chat_body("hello")).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""):
        answer = scripted_server.ask(CHAT, body, {"Content-Type": kind})
        assert answer.status == 415 and f"is {kind or 'missing'}. Send" in answer.error["message"]
    assert scripted_server.ask(CHAT, body, {"Content-Type": "Application/JSON ; charset=utf-8"}).status == 200
    announced = {**JSON, "Content-Length": str(MOST_BODY_BYTES + 1)}
    answer = scripted_server.ask(CHAT, b"", announced)
    assert answer.status == 413 and "larger than 8 MB" in answer.error["message"]


def test_a_compressed_body_is_refused_in_words_that_say_so(scripted_server: RunningServer) -> None:
    body = json.dumps(chat_body("hello")).encode()
    answer = scripted_server.ask(CHAT, gzip.compress(body), {**JSON, "Content-Encoding": "gzip"})
    assert answer.status == 415 and answer.error["message"].startswith("The body is compressed (gzip).")
    assert scripted_server.ask(CHAT, body, {**JSON, "Content-Encoding": "identity"}).status == 200


def test_a_body_without_a_length_is_cut_off_where_it_becomes_too_large(
    scripted_server: RunningServer,
) -> None:
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    with socket.create_connection(scripted_server.address, timeout=30) as connection:
        connection.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(MOST_BODY_BYTES // 0x100000 + 1):
            connection.sendall(chunk)
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")


async def test_a_body_that_never_ends_is_refused_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.server.body.BODY_SECONDS", 0.01)
    sent = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def receive() -> Any:
        return sent.pop() if sent else await asyncio.sleep(60)

    with pytest.raises(Problem, match="not complete") as refused:
        await read_body(Request({"type": "http", "headers": AS_JSON}, receive), Body)
    assert refused.value.status == 408


async def test_bodies_have_a_limit_together_until_their_requests_are_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """250 clients that sent most of eight megabytes each took two gigabytes."""
    monkeypatch.setattr(gate, "MOST_HELD_BYTES", 10)
    answered, sends = asyncio.Event(), AsyncMock()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await answered.wait()

    async def receive() -> Any:
        return {"type": "http.request", "body": b"123456"}

    own = gate.Gate(app, ["x"], (), None, lambda: 1)
    scope = {"type": "http", "method": "GET", "path": "/", "server": ("::1", 1), "headers": [(b"host", b"x")]}
    first = asyncio.create_task(own(scope, receive, sends))
    await asyncio.sleep(0)
    with pytest.raises(Problem, match="Ask again later") as refused:
        await own(scope, receive, sends)
    assert refused.value.status == 503 and refused.value.retry_seconds
    answered.set()
    await first
    await own(scope, receive, sends)


def test_more_connections_than_may_be_open_are_refused(scripted_server: RunningServer) -> None:
    with ExitStack() as idle:
        for _ in range(MOST_CONNECTIONS):
            idle.enter_context(socket.create_connection(scripted_server.address, timeout=30))
        refused = scripted_server.ask("/v1/models")
        assert refused.status == 503 and refused.error["code"] == "too_many_connections"
    scripted_server.wait_until_loaded()


@pytest.mark.parametrize("before", [b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_head_that_never_ends_is_cut_off_however_it_trickles(
    before: bytes, scripted_server: RunningServer
) -> None:
    began = time.monotonic()
    with socket.create_connection(scripted_server.address, timeout=30) as connection:
        connection.sendall(before + b"GET /health HTTP/1.1\r\nX: ")
        with pytest.raises(ConnectionError):
            while time.monotonic() - began < 10:
                connection.sendall(b"x")
                time.sleep(0.1)
    assert scripted_server.chat("hello").status == 200


def test_another_address_needs_a_key(run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLX_SPEC_API_KEY", raising=False)
    for host in ("0.0.0.0", "192.168.1.7", "::", "some.name", "127.0.0.2"):
        assert "MLX_SPEC_API_KEY" in run("serve builtin --host", host, code=2).err


def test_what_serve_is_given_reaches_the_server_but_blanks_around_a_key_which_no_header_can_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys: list[str | None] = []
    monkeypatch.setenv("MLX_SPEC_API_KEY", " key \n")
    served: dict[str, Any] = {}
    monkeypatch.setattr("app.server.run.run_server", lambda *_, **given: served.update(given))
    options = ["--allow-host", "mac.local", "--allow-origin", ORIGIN, "--at-once", "3", "--port", "0"]
    assert main(["serve", "builtin", *options]) == 0
    assert (served["names"], served["origins"]) == (["mac.local"], [ORIGIN])
    assert (served["host"], served["port"], served["at_once"]) == ("localhost", 0, 3)
    keys.append(served["key"])
    monkeypatch.setattr("app.commands.chat.has_screen", lambda: True)
    monkeypatch.setattr("app.engine.server_client.ServerClient", lambda _, key: keys.append(key))
    monkeypatch.setattr("app.tui.run.run_chat", lambda *_, **given: None)
    main(["chat", "--server", "http://localhost:1"])
    assert keys == ["key", "key"]


def test_a_key_of_two_lines_is_refused_and_not_shown(run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.commands.chat.has_screen", lambda: True)
    monkeypatch.setenv("MLX_SPEC_API_KEY", "my\nsecret")
    for command in ("serve builtin", "chat --server http://localhost:1"):
        said = run(command, code=2).err
        assert "MLX_SPEC_API_KEY has a line break, which" in said and "secret" not in said


def test_a_reader_that_takes_nothing_stalls_nobody_and_is_cut_off(scripted_server: RunningServer) -> None:
    """It gets what the system's buffers held, but not the end."""
    before = scripted_server.metric("request_success_total")
    body = chat_body("echo" + "x" * (MOST_BODY_BYTES - 1000), stream=True)
    with scripted_server.asking(CHAT, body) as connection:
        assert scripted_server.chat("hello").status == 200
        scripted_server.wait_for("request_success_total", before + 2, seconds=60)
        time.sleep(3 * SLOW_READER_SECONDS)
        found = b"".join(iter(lambda: connection.recv(1_000_000), b""))
    assert found.startswith(b"HTTP/1.1 200") and b"[DONE]" not in found


async def test_a_reader_that_takes_nothing_is_logged_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log had "TimeoutError at timeouts.py", as of a defect of the server."""
    monkeypatch.setattr(gate, "SLOW_READER_SECONDS", 0.01)
    lines: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.body", "body": b"x"})

    served = SimpleNamespace(state=SimpleNamespace(log=lines.append))
    scope = {"type": "http", "method": "GET", "path": "/", "server": ("::1", 1), "headers": [(b"host", b"x")]}
    own = gate.Gate(app, ["x"], (), None, lambda: 1)
    await own({**scope, "app": served}, AsyncMock(), lambda message: asyncio.sleep(60))
    assert lines == ["disconnected: GET /: nothing of its answer was read for 0 s"]
