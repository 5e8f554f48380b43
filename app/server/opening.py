"""A pair's engine process and the queue of requests before it, from its start to its end."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from app.chat.engine_link import EngineLink, PairEvent, RequestFailed
from app.engine.chat_prompt import Count
from app.engine.client import EngineClient
from app.engine.events import TurnEnded
from app.engine.protocol import Loaded, LoadFailed
from app.server.metrics import Metrics
from app.server.request_queue import QueuedRequest, RequestQueue
from app.server.service import Service, now
from app.shell.output import talk
from mlx_spec.types import Options
from models.pairs.pair import PairSpec
from models.paths import data_folder


@contextmanager
def opened(
    pair: PairSpec,
    defaults: Options,
    at_once: int,
    ended: Callable[[TurnEnded | RequestFailed], object],
    failed: Callable[[str], object],
) -> Iterator[Service]:
    """Begin to load the pair; its process ends when this is left. Needs a running event loop.

    Args:
        defaults: what holds where a request says nothing else.
        at_once: requests that are answered side by side.
        ended: told of every request that was with the engine, to be answered.
        failed: told why the pair cannot be loaded.
    """
    loop = asyncio.get_running_loop()

    def arrived() -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody listens any more
            loop.call_soon_threadsafe(link.pump)

    def listen(event: PairEvent) -> None:
        if isinstance(event, LoadFailed):
            failed(event.message)
        if isinstance(event, Loaded) and at_once > 1 and not event.info.batches:
            talk(f"{pair.name} can write one answer at a time only: requests are answered one by one.")

    def watch(asked: QueuedRequest, last: TurnEnded | RequestFailed) -> None:
        if isinstance(last, RequestFailed) or not isinstance(asked.request.prompt, Count):
            metrics.count(asked, last)
            ended(last)

    link = EngineLink(EngineClient(data_folder() / "engine.log", arrived=arrived), pair, at_once)
    metrics = Metrics()
    link.listener = listen
    link.start()
    try:
        yield Service(link, RequestQueue(link, watch, at_once=at_once), metrics, defaults, now())
    finally:
        link.close()
