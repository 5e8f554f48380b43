"""Access checks on a request's headers, before its body is read.

A web page can make a browser send requests to this machine, even under a domain of the page's own that
resolves here (DNS rebinding). So the name in `Host` must be one of ours, an `Origin` must be one the user
listed, and a body must be declared as JSON, which a page cannot do without a CORS preflight request.
"""

import asyncio
import hmac
import os
import re
from collections.abc import Callable, Collection

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.server.problem import Problem

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
OPEN_PATH = "/health"
"""Answered without a key."""
MOST_CONNECTIONS = 256
MOST_BODY_BYTES = 8 * 2**20
SLOW_READER_SECONDS = 30.0
"""A client that reads nothing of its answer for this long is disconnected."""

Check = Callable[[Scope, Headers], None]
"""Raises Problem to refuse a request."""


class Gate:
    """Passes on the requests that the check accepts; disconnects clients that do not read their answer."""

    def __init__(self, app: ASGIApp, check: Check) -> None:
        self._app = app
        self._check = check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(SLOW_READER_SECONDS):
                await send(message)

        app = self._app
        try:
            self._check(scope, Headers(scope=scope))
        except Problem as problem:
            app = problem.response(scope)
        await app(scope, receive, send_in_time)


def crowd_check(connections: Callable[[], int]) -> Check:
    """Accepts requests while no more than `MOST_CONNECTIONS` are open."""

    def check(scope: Scope, headers: Headers) -> None:
        if connections() > MOST_CONNECTIONS:
            message = f"More than {MOST_CONNECTIONS} connections are open. Close some, or try again later."
            raise Problem(503, message, code="too_many_connections", retry_seconds=1)

    return check


def address_check(names: Collection[str], origins: Collection[str]) -> Check:
    """Accepts requests that are addressed to this server and do not come from a foreign web page."""
    ours = frozenset(name.lower() for name in names)

    def check(scope: Scope, headers: Headers) -> None:
        host, address = headers.get("host", ""), scope["server"][0]
        if re.sub(r":\d*$", "", host).strip("[]").lower() not in ours | {address}:
            message = f"This server does not answer to {host[:100]!r}. Start it with --allow-host NAME."
            raise Problem(403, message, code="host_not_allowed")
        origin = headers.get("origin")
        if origin is not None and origin not in origins:
            message = f"Pages of {origin[:100]!r} may not ask here. Start it with --allow-origin ORIGIN."
            raise Problem(403, message, code="origin_not_allowed")

    return check


def key_check(key: str | None) -> Check:
    """Accepts requests that have the key, if one is set, and a JSON body that is not too large."""

    def check(scope: Scope, headers: Headers) -> None:
        if key and scope["path"] != OPEN_PATH:
            scheme, _, token = headers.get("authorization", "").partition(" ")
            given = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
            if not hmac.compare_digest(given.encode("latin-1"), os.fsencode(key)):
                how = "`Authorization: Bearer KEY`; mlx-spec chat reads it from MLX_SPEC_API_KEY"
                message = f"The API key is missing or wrong. Send it as {how}."
                raise Problem(401, message, code="invalid_api_key")
        if scope["method"] != "POST":
            return
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            message = f"The content type is {kind[:100] or 'missing'}. Send Content-Type: application/json."
            raise Problem(415, message, code="unsupported_media_type")
        check_size(int(headers.get("content-length", "0")))

    return check


def check_size(size: int) -> None:
    if size > MOST_BODY_BYTES:
        limit = f"{MOST_BODY_BYTES // 2**20} MB"
        raise Problem(413, f"The request is larger than {limit}. Send less.", code="request_too_large")
