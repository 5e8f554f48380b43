"""The routes, and the endpoints that send no request to the engine."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from app.server import events
from app.server.chat_completions import chat_completions
from app.server.completions import completions
from app.server.gate import Gate
from app.server.messages import count_tokens, messages
from app.server.problem import Problem
from app.server.responses import responses
from app.server.service import Service, service
from app.shell.errors import where
from app.shell.output import talk


def application(
    served: Service,
    *,
    names: Collection[str],
    origins: Collection[str],
    key: str | None,
    log: Callable[[str], object] = lambda line: None,
    connections: Callable[[], int] = lambda: 0,
) -> Starlette:
    """The server as ASGI; the arguments are as in `Gate`. `log` is called with a line per refused request."""
    cors = Middleware(
        CORSMiddleware, allow_origins=[*origins], allow_methods=["GET", "POST"], allow_headers=["*"],
        allow_private_network=True,  # Chrome asks for it if the page is not of this machine
    )  # fmt: skip
    # CORS comes first: a browser asks without the key.
    gate = Middleware(Gate, names, origins, key, connections)
    handlers = {Problem: _problem, HTTPException: _http, ClientDisconnect: _gone, Exception: _failed}
    app = Starlette(
        routes=ROUTES, middleware=[cors, gate] if origins else [gate], exception_handlers=handlers
    )
    app.state.service, app.state.log = served, log
    return app


async def health(request: Request) -> Response:
    """200 if answers begin without delay, else 503, as llama.cpp's server does. A dead engine is restarted
    here too, because a client may poll only this endpoint until it is healthy.
    """
    link = service(request).link
    link.wake()
    link.pump()  # reports an engine that could not be started
    ready = link.state == "ready" and link.tuning is None
    status = "ok" if ready else "loading" if link.state in ("loading", "ready") else "failed"
    return JSONResponse({"status": status}, 200 if ready else 503)


async def models(request: Request) -> Response:
    """The one model, as a page of Anthropic's API too."""
    listed = _model(service(request))
    page = {"has_more": False, "first_id": listed["id"], "last_id": listed["id"]}
    return JSONResponse({"object": "list", "data": [listed], **page})


async def model(request: Request) -> Response:
    served, name = service(request), request.path_params["name"].rstrip("/")
    if not name:
        return await models(request)
    served.check_model(name)
    return JSONResponse(_model(served))


async def metrics(request: Request) -> Response:
    served = service(request)
    text = served.metrics.text(served.queue, served.name)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _model(served: Service) -> dict[str, object]:
    """The fields of OpenAI's API, then those of Anthropic's, then ours."""
    info = served.link.info
    context = info.context_limit if info else None
    return {
        "id": served.name,
        "object": "model",
        "created": served.began,
        "owned_by": "mlx-spec",
        "type": "model",
        "display_name": served.name,
        "created_at": datetime.fromtimestamp(served.began, UTC).isoformat(),
        "lifecycle": "active",
        "max_input_tokens": context,
        "context_length": context,
        "drafters": list(info.drafters) if info else [],
    }


async def _problem(request: Request, error: Exception) -> Response:
    assert isinstance(error, Problem)
    return error.response(request.scope)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path[:100]
    public = [each.path for each in ROUTES if not each.path.startswith("/mlx-spec/") and "{" not in each.path]
    headers = error.headers or {}
    allowed = headers.get("Allow", "").replace(", HEAD", "").replace("HEAD, ", "")
    hint = {
        404: f"There is no {path} here. This server has {', '.join(public)}.",
        405: f"{request.method} is not allowed at {path}. Send {allowed}.",
    }
    problem = Problem(error.status_code, hint.get(error.status_code, error.detail))
    response = problem.response(request.scope)
    response.headers.update(headers)
    return response


async def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=499)  # the client is gone


async def _failed(request: Request, error: Exception) -> Response:
    """A defect of the server."""
    talk(f"{request.url.path}: {where(error)}")
    return Problem(500, f"Something failed inside: {where(error)}.").response(request.scope)


ROUTES = [
    Route("/health", health),
    Route("/metrics", metrics),
    Route("/v1/models", models),
    Route("/v1/models/{name:path}", model),
    Route("/v1/chat/completions", chat_completions, methods=["POST"]),
    Route("/v1/completions", completions, methods=["POST"]),
    Route("/v1/responses", responses, methods=["POST"]),
    Route("/v1/messages", messages, methods=["POST"]),
    Route("/v1/messages/count_tokens", count_tokens, methods=["POST"]),
    Route("/mlx-spec/pair", events.pair),
    Route("/mlx-spec/answer", events.answer, methods=["POST"]),
    Route("/mlx-spec/cancel", events.cancel, methods=["POST"]),
]
