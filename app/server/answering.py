"""Turns queued requests into one response, whole or streamed, in the format of any API."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.engine.events import TextAdded, TurnEnded, TurnEvent
from app.engine.protocol import Answer
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest, RequestQueue

KEEP_ALIVE_SECONDS = 10.0
"""How long a stream is silent before it sends a keep-alive. An error before the first one sets the response's
status; a later one is sent in the stream."""
KEEP_ALIVE = ": keep-alive\n\n"

T = TypeVar("T")


def new_id(prefix: str) -> str:
    return prefix + secrets.token_hex(12)


def server_sent(value: dict[str, Any], event: str = "") -> str:
    """A server-sent event, with a name if it has one; in ASCII, as some clients split lines at U+2028."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {json.dumps(value)}\n\n"


class Whole(NamedTuple):
    """A complete answer."""

    text: str
    thought: str
    asked: QueuedRequest
    ended: TurnEnded


class Writer(Protocol):
    """Writes a request's answers in an API's format. `index`: the number of the answer in the request."""

    def whole(self, answers: Sequence["Whole"]) -> dict[str, Any]: ...
    def begin(self) -> Iterable[str]: ...
    def text(self, index: int, added: TextAdded) -> Iterable[str]: ...
    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]: ...
    def end(self) -> Iterable[str]: ...
    def failed(self, problem: Problem) -> Iterable[str]: ...


async def respond(
    request: Request, queue: RequestQueue, asks: Sequence[Answer], writer: Writer, *, stream: bool
) -> Response:
    """Answer one or more prompts. Problem if that fails before the response has begun."""
    if not stream:
        return JSONResponse(writer.whole(await answered(request, queue, asks)))
    with _joined(queue, asks) as asked:
        first = await _unless_gone(request, asked[0].next(KEEP_ALIVE_SECONDS))
        return AnswerStream(asked, _frames(request, asked, first, writer))


async def answered(request: Request, queue: RequestQueue, asks: Sequence[Answer]) -> list[Whole]:
    """The complete answers. Problem if one fails."""
    with _joined(queue, [replace(ask, streamed=False) for ask in asks]) as asked:
        return await _unless_gone(request, _whole(asked))


@contextmanager
def _joined(queue: RequestQueue, asks: Sequence[Answer]) -> Iterator[list[QueuedRequest]]:
    """Put the requests in the queue; an error takes them out again."""
    asked = queue.join(asks)
    try:
        yield asked
    except BaseException:
        for each in asked:
            each.leave()
        raise


class AnswerStream(StreamingResponse):
    """A stream whose requests leave the queue when the client disconnects."""

    def __init__(self, asked: Sequence[QueuedRequest], frames: AsyncIterator[str]) -> None:
        headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
        super().__init__(frames, headers=headers, media_type="text/event-stream")
        self._asked = asked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            for each in self._asked:
                each.leave()


async def _whole(asked: Sequence[QueuedRequest]) -> list[Whole]:
    answers: list[Whole] = []
    for each in asked:
        said = {False: "", True: ""}
        while not isinstance(event := await each.next(), TurnEnded):
            if isinstance(event, TextAdded):
                for thought, text in event.parts:
                    said[thought] += text
        answers.append(Whole(said[False], said[True], each, _complete(event)))
    return answers


async def _frames(
    request: Request, asked: Sequence[QueuedRequest], first: TurnEvent | None, writer: Writer
) -> AsyncIterator[str]:
    try:
        for frame in writer.begin():
            yield frame
        event, due = first, time.monotonic() + (KEEP_ALIVE_SECONDS if first else 0)
        for index, each in enumerate(asked):
            while not isinstance(event, TurnEnded):
                if isinstance(event, TextAdded) and (event.pieces or event.scored):
                    for frame in writer.text(index, event):
                        yield frame
                    due = time.monotonic() + KEEP_ALIVE_SECONDS
                elif time.monotonic() >= due:  # events without text are silence too
                    yield KEEP_ALIVE
                    due = time.monotonic() + KEEP_ALIVE_SECONDS
                event = await each.next(max(0.0, due - time.monotonic()))
            for frame in writer.ended(index, each, _complete(event)):
                yield frame
            event, due = None, time.monotonic() + KEEP_ALIVE_SECONDS
        for frame in writer.end():
            yield frame
    except Problem as problem:
        problem.log(request.scope)
        for frame in writer.failed(problem):
            yield frame


def _complete(ended: TurnEnded) -> TurnEnded:
    if ended.finish_reason == "cancelled":
        raise Problem(503, "The answer was cut off: the server is shutting down.")
    return ended


async def _unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; if the client disconnects, cancel it and raise ClientDisconnect."""
    working, gone = asyncio.ensure_future(work), asyncio.ensure_future(_hang_up(request))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        working.cancel()
        gone.cancel()


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
