"""Starts and ends the server: sockets, the engine process, signals."""

import asyncio
import logging
import os
import resource
import signal
import socket
from collections.abc import Collection
from contextlib import suppress
from errno import EACCES, EADDRINUSE
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from app.engine.events import TurnEnded
from app.engine.protocol import AnswerFailed
from app.server.endpoints import application
from app.server.gate import LOOPBACK
from app.server.request_queue import RequestQueue
from app.server.service import opened
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput, MachineFailed, where
from app.shell.number_text import answer_figures, counted
from app.shell.output import data, talk
from models.pairs.pair import PairSpec

GRACE_SECONDS = 1
HEAD_SECONDS = 30.0
"""Interval of the checks; a connection with no new request and no answer in progress is closed, and one that
is closing ends if nothing more was read of what it still has to send."""
OPEN_FILES = 4096
"""Connections are among them. Without a free one none is accepted, and asyncio logs that without end."""


class _ImpatientProtocol(H11Protocol):
    """Ends idle connections: uvicorn waits forever for the head of a request, and for a reader of the end."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._check, None, 0)

    def _check(self, last: RequestResponseCycle | None, unread: int) -> None:
        left = self.transport.get_write_buffer_size()
        if self.transport.is_closing() and left in (0, unread):
            if left:  # else it has ended: nothing is left to abort
                self.transport.abort()
            return
        if self.cycle is last and (last is None or last.response_complete):
            self.transport.close()
        self.loop.call_later(HEAD_SECONDS, self._check, self.cycle, left)


class _Server(uvicorn.Server):
    """Cancels all answers at its end, so that their clients are told."""

    queue: RequestQueue

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.queue.end(GRACE_SECONDS / 2)
        await super().shutdown(sockets)


def run_server(
    pair: PairSpec,
    defaults: AnswerOptions,
    *,
    host: str,
    port: int,
    key: str | None,
    at_once: int,
    names: Collection[str] = (),
    origins: Collection[str] = (),
) -> None:
    """Serve until Ctrl+C.

    Args:
        host: `localhost` is both loopback addresses; an address that is not in `LOOPBACK` needs a key.
        port: 0 takes a free one.
        names, origins: as in `Gate`.
    """
    if not key and host not in LOOPBACK:
        raise BadInput(
            f"--host {host} may be reached from other machines. Set a key that they must send: "
            "MLX_SPEC_API_KEY=... mlx-spec serve."
        )
    _allow_files()
    sockets = _listen(host, port)

    async def serve() -> None:
        asyncio.get_running_loop().set_exception_handler(_log_defect)

        def stop() -> None:
            server.should_exit = True

        with opened(pair, defaults, at_once, _log, stop) as served:
            ours = {*LOOPBACK, host, *names}
            app = application(
                served, names=ours, origins=origins, key=key, log=talk,
                connections=lambda: len(server.server_state.connections),
            )  # fmt: skip
            config = uvicorn.Config(
                app, loop="asyncio", http=_ImpatientProtocol, ws="none", lifespan="off", interface="asgi3",
                log_config=None, log_level="critical", access_log=False, proxy_headers=False,
                server_header=False, timeout_graceful_shutdown=GRACE_SECONDS,
            )  # fmt: skip
            server = _Server(config)
            server.queue = served.queue
            data(f"Serving {pair.name} at {_url(sockets[0])}/v1 (Ctrl+C ends it)")
            await server.serve(sockets)

    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of clients that left amid their answer
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        talk("Stopped.")
    finally:
        signal.signal(signal.SIGTERM, before)
        for each in sockets:
            each.close()


def _log_defect(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    talk(f"failed: {where(error) if error else context['message']}")


def _log(last: TurnEnded | AnswerFailed) -> None:
    """Log a finished request in one line, without its text; `Problem.log` does for refused ones."""
    if isinstance(last, TurnEnded):
        stats = last.stats
        prompt = f"{counted(stats.prompt_tokens, 'prompt token')} ({stats.cached_tokens:,} cached)"
        talk(", ".join([prompt, *answer_figures(stats), last.finish_reason]))
    elif not last.refused:
        talk(f"failed: {last.message}")


def _allow_files() -> None:
    """Allow `OPEN_FILES`, or as many as the system lets us: macOS allows 256 at first, Linux 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):  # a system may refuse
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _listen(host: str, port: int) -> list[socket.socket]:
    """For `localhost` both loopback addresses, if IPv6 works: some clients try only that one."""
    try:
        if host != "localhost":
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            return [socket.create_server((host, port), family=family)]
        first = socket.create_server(("127.0.0.1", port))
    except OSError as error:
        if error.errno not in (EADDRINUSE, EACCES):
            raise BadInput(
                f"--host {host} is not an address of this machine. Give one that it has."
            ) from error
        why = f"Port {port} of {host} cannot be used ({os.strerror(error.errno)})."
        raise MachineFailed(f"{why} Choose another with --port.") from error
    with suppress(OSError):
        return [first, socket.create_server(("::1", first.getsockname()[1]), family=socket.AF_INET6)]
    return [first]


def _url(listening: socket.socket) -> str:
    address, port = listening.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"
