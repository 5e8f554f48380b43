"""Turns queued requests into one response, whole or streamed, in the format of any API."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.engine.events import TextAdded, TurnEnded, TurnEvent
from app.engine.protocol import Answer
from app.server.problem import Problem
from app.server.request_queue import ENDING, QueuedRequest, RequestQueue

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


class Writer(Protocol):
    """Writes a request's answers in an API's format: as the frames of a stream, or at the end as a whole.
    `index`: the number of the answer in the request.
    """

    def begin(self, asked: QueuedRequest) -> Iterable[str]: ...
    def text(self, index: int, added: TextAdded) -> Iterable[str]: ...
    def ended(self, index: int, asked: QueuedRequest, ended: TurnEnded) -> Iterable[str]: ...
    def end(self) -> Iterable[str]: ...
    def failed(self, problem: Problem) -> Iterable[str]: ...
    def whole(self) -> dict[str, Any]: ...


async def respond(
    request: Request, queue: RequestQueue, asks: Sequence[Answer], writer: Writer, *, stream: bool
) -> Response:
    """Answer one or more prompts. Problem if that fails before the response has begun."""
    asked = queue.join([replace(ask, streamed=stream) for ask in asks])
    try:
        if stream:
            first = await _unless_gone(request, asked[0].next(KEEP_ALIVE_SECONDS))
            return AnswerStream(asked, _stream(request, asked, first, writer))
        await _unless_gone(request, _read(asked, writer))
        return JSONResponse(writer.whole())
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


async def _read(asked: Sequence[QueuedRequest], writer: Writer) -> None:
    """Let the writer have the answers; Problem if one fails."""
    async for _ in _frames(asked, None, writer):
        pass


async def _stream(
    request: Request, asked: Sequence[QueuedRequest], first: TurnEvent | None, writer: Writer
) -> AsyncIterator[str]:
    try:
        async for frames in _frames(asked, first, writer):
            yield frames
    except Problem as problem:
        problem.log(request.scope)
        yield "".join(writer.failed(problem))


async def _frames(
    asked: Sequence[QueuedRequest], first: TurnEvent | None, writer: Writer
) -> AsyncIterator[str]:
    event = first
    while event is None:
        yield KEEP_ALIVE
        event = await asked[0].next(KEEP_ALIVE_SECONDS)
    yield "".join(writer.begin(asked[0]))
    due = time.monotonic() + KEEP_ALIVE_SECONDS
    for index, each in enumerate(asked):
        while not isinstance(event, TurnEnded):
            text = ""
            if isinstance(event, TextAdded) and (event.pieces or event.scored):
                text = "".join(writer.text(index, event))
            if text or time.monotonic() >= due:  # text that is not shown is silence too
                yield text or KEEP_ALIVE
                due = time.monotonic() + KEEP_ALIVE_SECONDS
            event = await each.next(max(0.0, due - time.monotonic()))
        if event.finish_reason == "cancelled":
            raise Problem(503, ENDING)
        if each.request.one_call:
            event = replace(event, tool_calls=event.tool_calls[:1])
        yield "".join(writer.ended(index, each, event))
        event, due = None, time.monotonic() + KEEP_ALIVE_SECONDS
    yield "".join(writer.end())


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
