"""Answers a file of requests through the server's endpoints, without a network."""

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass

import httpx2

from app.engine.events import TurnEnded
from app.engine.protocol import AnswerFailed
from app.server.batch_file import Answers, BatchRequest
from app.server.endpoints import application
from app.server.gate import LOOPBACK
from app.server.service import opened
from app.settings.options import AnswerOptions
from app.shell.number_text import counted
from app.shell.output import Progress, talk
from models.pairs.pair import PairSpec
from models.time_text import time_text

AHEAD = 2
"""Requests in flight per answer that the engine writes, so that the next one waits in its queue."""
LOOK_SECONDS = 0.05
"""How often it looks whether the pair is loaded."""
AGAIN_SECONDS = 0.5
"""Delay before a request is repeated that found the queue full; requests for several answers fill it."""
JSON = {"content-type": "application/json"}


@dataclass
class Outcome:
    """The results of the requests so far."""

    total: int
    done: int = 0
    tokens: int = 0
    refused: int = 0
    """Requests whose answer is an error."""
    failed: int = 0
    """Requests that failed on the server's side."""
    begun: float = 0.0
    """When the pair was loaded."""

    @property
    def text(self) -> str:
        seconds = time.monotonic() - self.begun
        parts = [f"{self.done:,} of {counted(self.total, 'request')}"]
        if self.refused:
            parts.append(f"{self.refused:,} refused")
        if self.done:
            parts.append(f"{self.tokens / seconds:.1f} tokens/s")
            answered, left = self.done - self.refused, self.total - self.done
            if answered and left:  # refusals take no time
                parts.append(f"about {time_text(seconds / answered * left)} left")
        return ", ".join(parts)


async def answer_all(
    pair: PairSpec, defaults: AnswerOptions, requests: Sequence[BatchRequest], answers: Answers, at_once: int
) -> Outcome:
    """Answer the requests, `at_once` side by side, and write each answer as it comes.

    Raises:
        BadInput: the pair cannot be used.
        MachineFailed: it cannot be loaded, or an answer cannot be written.
    """
    outcome, waiting = Outcome(len(requests)), iter(requests)
    task = asyncio.current_task()
    assert task is not None, "it runs in one"

    def count(last: TurnEnded | AnswerFailed) -> None:
        outcome.tokens += last.stats.tokens if isinstance(last, TurnEnded) else 0

    async def answer_some() -> None:
        for request in waiting:
            # Not the client's own json=, which fails at NaN: the server refuses it where it is read.
            content = json.dumps({**request.body, "stream": False})
            while (came := await client.post(request.url, content=content, headers=JSON)).status_code == 429:
                await asyncio.sleep(AGAIN_SECONDS)
            body = came.json()
            if came.status_code >= 500:
                outcome.failed += 1
                talk(f"{request.custom_id}: {body['error']['message']}")
            else:
                answers.add(request.custom_id, came.status_code, body)
                outcome.refused += came.status_code >= 400
            outcome.done += 1
            line.show(outcome.text)

    with opened(pair, defaults, at_once, count, task.cancel) as served, Progress() as line:
        app = application(served, names=LOOPBACK, origins=(), key=None)
        # A defect of the server fails one request: the response says so, and the rest goes on.
        transport, url = httpx2.ASGITransport(app=app, raise_app_exceptions=False), "http://localhost"
        async with httpx2.AsyncClient(transport=transport, base_url=url, timeout=None) as client:
            line.show(f"Loading {pair.name} ...")
            while served.link.state == "loading":
                await asyncio.sleep(LOOK_SECONDS)
            outcome.begun = time.monotonic()
            line.show(outcome.text)
            await asyncio.gather(*(answer_some() for _ in range(at_once * AHEAD)))
    return outcome
