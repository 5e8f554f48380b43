"""Starts and ends the server: sockets, the engine process, signals."""

import asyncio
import signal
import socket
from collections.abc import Collection
from contextlib import suppress
from ipaddress import ip_address

import uvicorn

from app.chat.engine_link import RequestFailed
from app.engine.events import TurnEnded
from app.server.endpoints import application
from app.server.gate import LOOPBACK
from app.server.service import opened
from app.server.slow_heads import ImpatientProtocol
from app.shell.errors import BadInput, MachineFailed
from app.shell.number_text import counted
from app.shell.output import data, talk
from mlx_spec.types import Options
from models.pairs.pair import PairSpec

MOST_CONNECTIONS = 256
GRACE_SECONDS = 1


def run_server(
    pair: PairSpec,
    defaults: Options,
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
        host: `localhost` is both loopback addresses; any address but a loopback one needs a key.
        port: 0 takes a free one.
        at_once: requests answered side by side.
        names: further names accepted in `Host`.
        origins: web pages that may send requests.
    """
    if not key and not _is_loopback(host):
        raise BadInput(
            f"--host {host} can be reached from other machines. Set a key that they must send: "
            "MLX_SPEC_API_KEY=... mlx-spec serve."
        )
    sockets, failure = _listen(host, port), ""

    async def serve() -> None:
        def fail(reason: str) -> None:
            nonlocal failure
            failure, server.should_exit = reason, True

        with opened(pair, defaults, at_once, _log, fail) as served:
            ours = {*LOOPBACK, host, *names}
            app = application(served, names=ours, origins=origins, key=key, log=talk)
            config = uvicorn.Config(
                app, loop="asyncio", http=ImpatientProtocol, ws="none", lifespan="off", interface="asgi3",
                log_config=None, log_level="critical", access_log=False, proxy_headers=False,
                server_header=False, limit_concurrency=MOST_CONNECTIONS,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )  # fmt: skip
            server = uvicorn.Server(config)
            data(f"Serving {pair.name} at {_url(sockets[0])}/v1 (Ctrl+C ends it)")
            await server.serve(sockets)

    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        talk("Stopped.")
    finally:
        signal.signal(signal.SIGTERM, before)
        for each in sockets:
            each.close()
    if failure:
        raise BadInput(failure)


def _log(last: TurnEnded | RequestFailed) -> None:
    """Log a finished request in one line; `Problem.log` does for refused ones."""
    if isinstance(last, TurnEnded):
        talk(_request_line(last))
    elif not last.refused:
        talk(f"failed: {last.reason}")


def _request_line(last: TurnEnded) -> str:
    """A request's statistics, without its text."""
    stats = last.stats
    rate = f" at {stats.tokens_per_second:.1f}/s" if stats.tokens_per_second else ""
    parts = [
        f"{counted(stats.prompt_tokens, 'prompt token')} ({stats.cached_tokens:,} cached)",
        f"{counted(stats.tokens, 'token')}{rate}",
    ]
    if stats.draft_n:
        parts.append(f"{stats.acceptance_rate:.0%} of {stats.draft_n:,} drafted accepted")
    return ", ".join([*parts, f"first after {stats.time_to_first_token:.2f} s", last.finish_reason])


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> list[socket.socket]:
    """For `localhost` both loopback addresses, if IPv6 works: some clients try only that one."""
    try:
        if host != "localhost":
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            return [socket.create_server((host, port), family=family)]
        first = socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        raise MachineFailed(
            f"Port {port} of {host} cannot be used: {error}. Choose another with --port."
        ) from error
    with suppress(OSError):
        return [first, socket.create_server(("::1", first.getsockname()[1]), family=socket.AF_INET6)]
    return [first]


def _url(listening: socket.socket) -> str:
    address, port = listening.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"
