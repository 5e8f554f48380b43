"""Requests in order of arrival: some with the engine, the others waiting, up to a limit.

Everything here runs on the event loop's thread; nothing here waits for a client.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence

from app.chat.engine_link import EngineLink, RequestEvent
from app.engine.events import PromptCounted, ScoredToken, TextAdded, TurnEnded, TurnEvent
from app.engine.protocol import Answer, Answered, AnswerFailed
from app.server.problem import CONTEXT_FULL, Problem
from mlx_spec.stats import summarise

MOST_WAITING = 64
RETRY_SECONDS = 5
ENDING = "The answer was cut off: the server is shutting down."


class QueuedRequest:
    """One request, from its place in the queue to its last event."""

    def __init__(self, queue: "RequestQueue", request: Answer) -> None:
        self.request = request
        self.drafted: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()
        """`drafted` and `accepted`: tokens by drafter."""
        self.accepted_at: Counter[int] = Counter()
        """Accepted tokens by position in the draft."""
        self.prompt_tokens = 0
        """Known from its first event on."""
        self.text = ""
        self.thought = ""
        self.scored: list[ScoredToken] = []
        self.thought_tokens = 0
        """Tokens of the answer when its thought ended, to a round."""
        self.id = 0
        """The id of the engine's request, once it is with the engine."""
        self._queue = queue
        self._events: asyncio.Queue[RequestEvent] = asyncio.Queue()

    async def next(self, seconds: float | None = None) -> TurnEvent | None:
        """The next event; None after `seconds` without one. Problem if the request failed."""
        try:
            async with asyncio.timeout(seconds):
                event = await self._events.get()
        except TimeoutError:
            return None
        if isinstance(event, Answered):
            return event.event
        assert isinstance(event, AnswerFailed), event
        if event.refused:
            names = {"prompt": self.request.prompt_name, "drafter": "draft.drafter"}
            param = names.get(event.field, event.field) or None
            code = CONTEXT_FULL if event.too_long else None
            raise Problem(400, event.message, param=param, code=code)
        if event.died:
            raise Problem(503, event.message, retry_seconds=RETRY_SECONDS)
        raise Problem(500, event.message)

    def leave(self) -> None:
        """Cancel the request: its answer ends within a round, or never begins."""
        self._queue.leave(self)

    def take(self, event: RequestEvent) -> None:
        """Store an event from the engine."""
        if isinstance(event, Answered) and isinstance(event.event, PromptCounted):
            self.prompt_tokens = event.event.prompt_tokens
        if isinstance(event, Answered) and isinstance(event.event, TextAdded):
            for played in event.event.played:
                self.drafted[played.drafter] += len(played.drafted)
                self.accepted[played.drafter] += played.accepted
                self.accepted_at.update(range(played.accepted))
            self.scored += event.event.scored
            for thought, text in event.event.parts:
                if thought:
                    self.thought += text
                    self.thought_tokens = event.event.tokens
                else:
                    self.text += text
        self._events.put_nowait(event)


Watcher = Callable[[QueuedRequest, TurnEnded | AnswerFailed], object]
"""Called with every request that the engine has finished, and its last event."""


class RequestQueue:
    """Hands requests to the engine, `at_once` of them at a time, and at once those that only count tokens."""

    def __init__(self, link: EngineLink, watcher: Watcher, *, at_once: int) -> None:
        self.link = link
        self.waiting: deque[QueuedRequest] = deque()
        self.running: set[QueuedRequest] = set()
        self._watcher = watcher
        self._at_once = at_once
        self._ending = False

    def join(self, requests: Sequence[Answer]) -> list[QueuedRequest]:
        """Append all requests to the queue; Problem if it ends, or has no room for them. Token counts
        take room too: the engine reads one text at a time.
        """
        if self._ending:  # a body may be complete only now
            raise Problem(503, ENDING)
        present = len(self.waiting) + len(self.running)
        if present + len(requests) > MOST_WAITING + self._at_once:
            message = f"{present} requests wait or are being answered. Ask again later."
            raise Problem(429, message, code="queue_full", retry_seconds=RETRY_SECONDS)
        joined = [QueuedRequest(self, request) for request in requests]
        self.waiting += joined
        self._advance()
        return joined

    def leave(self, asked: QueuedRequest) -> None:
        if asked in self.waiting:
            self.waiting.remove(asked)
            seed = asked.request.options.seed
            asked.take(Answered(0, TurnEnded("", (), "cancelled", seed, summarise(()))))
        elif asked in self.running:
            self.link.cancel(asked.id)

    def end(self, seconds: float) -> None:
        """Cancel all, and take no more. Those that the engine has not ended after `seconds` fail: it may be
        loading a pair.
        """
        self._ending = True
        for asked in (*self.waiting, *self.running):
            self.leave(asked)
        asyncio.get_running_loop().call_later(seconds, self._fail_all)

    def _fail_all(self) -> None:
        for asked in self.running:
            asked.take(AnswerFailed(0, ENDING, died=True))

    def _advance(self) -> None:
        for asked in [*self.waiting]:
            # Counting tokens takes no place of an answer.
            if asked.request.counts or sum(not one.request.counts for one in self.running) < self._at_once:
                self.waiting.remove(asked)
                self.running.add(asked)
                asked.id = self.link.send(lambda event, asked=asked: self._take(asked, event), asked.request)
                # If no engine could be started, this reports it.
                asyncio.get_running_loop().call_soon(self.link.pump)

    def _take(self, asked: QueuedRequest, event: RequestEvent) -> None:
        asked.take(event)
        match event:
            case Answered(_, TurnEnded() as last) | (AnswerFailed() as last):
                self.running.discard(asked)
                self._watcher(asked, last)
                # Later: if the engine died, its other requests must fail first.
                asyncio.get_running_loop().call_soon(self._advance)
