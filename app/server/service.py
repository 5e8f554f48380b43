"""What the endpoints share: the served pair, its queue of requests and their default options."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import cast
from weakref import WeakValueDictionary

from starlette.requests import Request

from app.chat.engine_link import EngineDied, EngineLink, PairEvent
from app.engine.client import EngineClient
from app.engine.events import TurnEnded
from app.engine.protocol import AnswerFailed, Loaded, LoadFailed
from app.server.metrics import Metrics
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest, RequestQueue
from app.settings.options import AnswerOptions, check_drafters, unobeyed
from app.shell.errors import AppError, BadInput, MachineFailed
from app.shell.output import talk
from models.pairs.pair import PairSpec
from models.paths import data_folder


@dataclass(frozen=True, slots=True)
class Service:
    link: EngineLink
    queue: RequestQueue
    metrics: Metrics
    defaults: AnswerOptions
    """AnswerOptions that a request may override."""
    began: int
    """Seconds since 1970."""
    calls: MutableMapping[str, QueuedRequest] = field(default_factory=WeakValueDictionary)
    """Answers in progress by the name that cancels them."""

    @property
    def name(self) -> str:
        return self.link.pair.name

    def check_model(self, name: str | None) -> None:
        """Problem for the name of another model."""
        if name is not None and name != self.name:
            message = f"There is no model {name[:100]!r} here. This server has: {self.name}."
            raise Problem(404, message, param="model", code="model_not_found")


def now() -> int:
    """Seconds since 1970, the date of an answer."""
    return int(time.time())


def service(request: Request) -> Service:
    return request.app.state.service


@contextmanager
def opened(
    pair: PairSpec,
    defaults: AnswerOptions,
    at_once: int,
    ended: Callable[[TurnEnded | AnswerFailed], object],
    stop: Callable[[], object],
) -> Iterator[Service]:
    """Start to load the pair; its process ends with this context. Needs a running event loop.

    BadInput at the end if the pair cannot be used, MachineFailed if the machine or another Mac failed.

    Args:
        defaults: options that a request may override.
        at_once: requests answered side by side.
        ended: called with the last event of every request except successful token counts.
        stop: ends what is done with the service, which failed; it may cancel the task of this context.
    """
    loop, failure = asyncio.get_running_loop(), cast("AppError | None", None)

    def failed(error: AppError) -> None:
        nonlocal failure
        failure = error
        stop()

    def arrived() -> None:
        with suppress(RuntimeError):  # the loop is closed: the server has ended
            loop.call_soon_threadsafe(link.pump)

    def listen(event: PairEvent) -> None:
        if isinstance(event, LoadFailed):
            failed((BadInput if event.refused else MachineFailed)(event.message))
        if isinstance(event, EngineDied) and "MLX_RANK" in os.environ:
            message = (
                "The engine ended, and with it the connection to the other Macs. Start all of them again."
            )
            failed(MachineFailed(message))
        elif isinstance(event, EngineDied) and not event.while_answering:  # else its requests tell
            talk(event.text)
        if not isinstance(event, Loaded):
            return
        try:
            check_drafters(defaults.drafter, pair.name, event.info.drafters)
        except BadInput as error:
            failed(error)
        if note := unobeyed(defaults.think, pair.name, event.info.thinks):
            talk(note)
        if at_once > 1 and not event.info.batches:
            talk(
                f"{pair.name} can write only one answer at a time: requests are answered one after the other."
            )

    def watch(asked: QueuedRequest, last: TurnEnded | AnswerFailed) -> None:
        if isinstance(last, AnswerFailed) or not asked.request.counts:
            metrics.count(asked, last)
            ended(last)

    link = EngineLink(EngineClient(data_folder() / "engine.log", arrived=arrived), pair, at_once)
    metrics = Metrics()
    link.listener = listen
    link.start()
    try:
        yield Service(link, RequestQueue(link, watch, at_once=at_once), metrics, defaults, now())
    except asyncio.CancelledError:
        if not failure:
            raise
    finally:
        link.close()
    if failure:
        raise failure
