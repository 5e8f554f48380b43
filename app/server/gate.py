"""Access checks on a request's headers, before its body is read.

A web page can make a browser send requests to this machine, even under a domain of the page's own that
resolves here (DNS rebinding). So the name in `Host` must be one of ours, an `Origin` must be one the user
listed, and a body (`read_body`) must be declared as JSON, which a page cannot do without a CORS preflight
request.
"""

import asyncio
import hmac
import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server.problem import Problem
from app.shell.printable import one_line

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN_PATH = "/health"
"""Answered without a key."""
MOST_CONNECTIONS = 256
MOST_HELD_BYTES = 256 * 2**20
SLOW_READER_SECONDS = 30.0
"""A client that reads nothing of its answer for this long is disconnected."""


class NothingRead(Exception):
    """A client read nothing of its answer for `SLOW_READER_SECONDS`."""


@dataclass(slots=True)
class Gate:
    """Passes on requests that are accepted; disconnects clients that do not read their answer."""

    app: ASGIApp
    names: Collection[str]
    """Of this server, beside its address."""
    origins: Collection[str]
    """Web pages that may send requests."""
    key: str | None
    """What requests must send, if one is set."""
    connections: Callable[[], int]
    """How many are open."""
    held: int = 0
    """Bytes of the bodies of all requests that arrive, wait or are being answered."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def receive_if_room() -> Message:
            nonlocal size
            message = await receive()
            arrived = len(message.get("body", b""))
            size += arrived
            self.held += arrived
            if self.held > MOST_HELD_BYTES:
                text = (
                    f"The requests in progress have more than {MOST_HELD_BYTES // 2**20} MB. Ask again later."
                )
                raise Problem(503, text, code="requests_too_large", retry_seconds=1)
            return message

        async def send_in_time(message: Message) -> None:
            try:
                async with asyncio.timeout(SLOW_READER_SECONDS):
                    await send(message)
            except TimeoutError:
                raise NothingRead from None

        app, headers = self.app, Headers(scope=scope)
        try:
            if self.connections() > MOST_CONNECTIONS:
                message = f"More than {MOST_CONNECTIONS} connections are open. Close some, or try later."
                raise Problem(503, message, code="too_many_connections", retry_seconds=1)
            check_address(headers, [*self.names, scope["server"][0]], self.origins)
            if self.key and scope["path"] != OPEN_PATH:
                check_key(headers, self.key)
        except Problem as problem:
            app = problem.response(scope)
        try:
            await app(scope, receive_if_room, send_in_time)
        except NothingRead:  # an answer that is not complete is cut off
            where = one_line(f"{scope['method']} {scope['path']}"[:100])
            text = f"disconnected: {where}: nothing of its answer was read for {SLOW_READER_SECONDS:.0f} s"
            scope["app"].state.log(text)
        finally:
            self.held -= size


def check_address(headers: Headers, names: Collection[str], origins: Collection[str]) -> None:
    """Problem if a request is addressed to another name, or comes from a foreign web page."""
    host, origin = headers.get("host", ""), headers.get("origin")
    if re.sub(r":\d*$", "", host).strip("[]").lower() not in {name.lower() for name in names}:
        advice = "Start it with --allow-host NAME." if host else "Send its own name in the Host header."
        message = f"This server does not accept the host name {host[:100]!r}. {advice}"
        raise Problem(403, message, code="host_not_allowed")
    if origin is not None and origin not in origins:
        advice = "Start it with --allow-origin ORIGIN."
        if origin == "null":  # sent by every file, so it cannot be listed
            advice = "It is a file: open it from a web server, and list that server by --allow-origin ORIGIN."
        message = f"Web pages of {origin[:100]!r} may not send requests here. {advice}"
        raise Problem(403, message, code="origin_not_allowed")


def check_key(headers: Headers, key: str) -> None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    given = token.strip(" ") if scheme.lower() == "bearer" else headers.get("x-api-key", "")
    if not hmac.compare_digest(given.encode("latin-1"), os.fsencode(key)):
        how = "`Authorization: Bearer KEY`; mlx-spec chat reads it from MLX_SPEC_API_KEY"
        raise Problem(401, f"The API key is missing or wrong. Send it as {how}.", code="invalid_api_key")
