"""The end of a connection whose client does not read."""

import asyncio
import socket
from unittest.mock import Mock

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from app.server import run


async def test_a_connection_ends_though_nobody_reads_the_rest_of_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It stayed open, with its answer in memory, for as long as its client did."""
    monkeypatch.setattr(run, "HEAD_SECONDS", 0.05)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x" * 20_000_000})

    config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None, access_log=False)
    config.load()
    state, loop = ServerState(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: run._ImpatientProtocol(config, state, {}), "127.0.0.1", 0)
    async with server, asyncio.timeout(5):
        with socket.create_connection(server.sockets[0].getsockname()) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            while not state.total_requests or state.connections:
                await asyncio.sleep(0.01)
            client.settimeout(5)
            assert len(b"".join(iter(lambda: client.recv(1_000_000), b""))) < 20_000_000


@pytest.mark.parametrize(
    ("left", "unread", "aborts", "goes_on"), [(5, 5, True, False), (5, 9, False, True), (0, 5, False, False)]
)
def test_of_closing_connections_only_one_of_which_nothing_is_read_is_aborted(
    left: int, unread: int, aborts: bool, goes_on: bool
) -> None:
    """asyncio fails at one that has ended."""
    protocol = Mock()
    protocol.transport.is_closing.return_value = True
    protocol.transport.get_write_buffer_size.return_value = left
    run._ImpatientProtocol._check(protocol, None, unread)
    assert (protocol.transport.abort.called, protocol.loop.call_later.called) == (aborts, goes_on)
