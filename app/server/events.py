"""`POST /mlx-spec/answer`: an answer as a stream of the engine's events, for `mlx-spec chat --server`.

No public API: both ends must have the same version.
"""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.engine.events import TurnEnded
from app.engine.protocol import Answer, AnswerFailed
from app.engine.server_client import LINE, PAIR
from app.server.answering import KEEP_ALIVE_SECONDS, AnswerStream
from app.server.body import Body, read_body
from app.server.openai import MOST_PREDICTED
from app.server.problem import Problem
from app.server.request_queue import QueuedRequest
from app.server.service import service


class AnswerRequest(Body):
    answer: Answer
    call: str
    """A name for this request, to cancel it by."""
    pair: str | None = None
    """The pair that the chat shows; another one may be served since it began."""


class CancelRequest(Body):
    call: str


async def pair(request: Request) -> Response:
    """The served pair's facts, once it is loaded. A dead engine is started again, as by /health."""
    served = service(request)
    served.link.wake()
    if served.link.info is None:
        raise Problem(503, f"{served.name} is not loaded yet. Ask again in a moment.", retry_seconds=1)
    return Response(PAIR.dump_json(served.link.info), media_type="application/json")


async def answer(request: Request) -> Response:
    """Lines of JSON: events, at the end perhaps an error; empty lines as keep-alive."""
    served, body = service(request), await read_body(request, AnswerRequest)
    if body.pair not in (None, served.name):
        raise Problem(409, f"The server has {served.name} now, not {body.pair}. Open the chat again.")
    asked = served.queue.join([_as_chats_ask(body.answer)])
    served.calls[body.call] = asked[0]
    return AnswerStream(asked, _lines(request, asked[0]))


def _as_chats_ask(given: Answer) -> Answer:
    """Without fields that chats do not set: nothing checks them. Documents are in the prompt too, and other
    answers wait while they are indexed.
    """
    fit = sum(map(len, given.documents)) <= MOST_PREDICTED
    documents = given.documents if fit else ()
    return Answer(0, given.prompt, given.options, documents, given.begun, fresh=given.fresh)


async def cancel(request: Request) -> Response:
    """Cancel the answer of this name; its own stream ends then. No effect if it has ended."""
    served, body = service(request), await read_body(request, CancelRequest)
    if asked := served.calls.get(body.call):
        asked.leave()
    return JSONResponse({})


async def _lines(request: Request, asked: QueuedRequest) -> AsyncIterator[str]:
    event = None
    try:
        while not isinstance(event, TurnEnded):
            event = await asked.next(KEEP_ALIVE_SECONDS)
            yield f"{LINE.dump_json(event, ensure_ascii=True).decode() if event else ''}\n"
    except Problem as problem:
        problem.log(request.scope)
        failed = AnswerFailed(0, problem.message, problem.status < 500)
        yield f"{LINE.dump_json(failed).decode()}\n"
