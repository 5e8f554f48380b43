"""What the endpoints share: the served pair, its queue of requests and the options of every request."""

import time
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from starlette.requests import Request

from app.chat.engine_link import EngineLink
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest, RequestQueue
from mlx_spec.types import Options

if TYPE_CHECKING:
    from app.server.metrics import Metrics


@dataclass(frozen=True, slots=True)
class Service:
    link: EngineLink
    queue: RequestQueue
    metrics: "Metrics"
    defaults: Options
    """Of every request, where it says nothing else."""
    began: int
    """Seconds since 1970."""
    calls: MutableMapping[str, QueuedRequest] = field(default_factory=WeakValueDictionary)
    """Answers in progress that may be cancelled by a name."""

    @property
    def name(self) -> str:
        return self.link.pair.name

    def check_model(self, name: str | None) -> None:
        """Problem for the name of another model."""
        if name is not None and name != self.name:
            message = f"There is no model {name[:100]!r} here. This server has: {self.name}."
            raise Problem(404, message, param="model", code="model_not_found")


def now() -> int:
    """Seconds since 1970, which date answers."""
    return int(time.time())


def service(request: Request) -> Service:
    return request.app.state.service
