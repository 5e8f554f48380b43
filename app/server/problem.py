"""An error response: a status, and a body in the format of the client's API."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Scope

from app.shell.printable import one_line

CONTEXT_FULL = "context_length_exceeded"
"""OpenAI's code for a conversation that does not fit the context."""

_ANTHROPIC = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
    429: "rate_limit_error", 503: "overloaded_error",
}  # fmt: skip


@dataclass(eq=False)
class Problem(Exception):
    """The message is for the client's user: what is wrong, with the value, and what to do."""

    status: int
    message: str
    _: KW_ONLY
    param: str | None = None
    """The field of the request that is at fault."""
    code: str | None = None
    """The error's name for programs."""
    retry_seconds: int | None = None
    """When to try again; None: trying again is no use."""

    def body(self, *, anthropic: bool = False) -> dict[str, Any]:
        """The error in OpenAI's format, or in Anthropic's."""
        if anthropic:
            other = "api_error" if self.status >= 500 else "invalid_request_error"
            kind = _ANTHROPIC.get(self.status, other)
            details = {"details": {"error_code": self.code}} if self.code else {}
            return {"type": "error", "error": {"type": kind, "message": self.message, **details}}
        kind = "server_error" if self.status >= 500 else "invalid_request_error"
        kind = "rate_limit_error" if self.status == 429 else kind
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        return {"error": error}

    def log(self, scope: Scope) -> None:
        """Log a refused request (4xx) in one line, without its text."""
        if self.status < 500:
            reason = ", ".join(filter(None, (self.param, self.code)))
            where = one_line(f"{scope['method']} {scope['path']}"[:100])
            scope["app"].state.log(f"{self.status}: {where}{f' ({reason})' if reason else ''}")

    def response(self, scope: Scope) -> JSONResponse:
        """The response. OpenAI's client retries at 408, 409, 429 and 5xx unless a header forbids it."""
        self.log(scope)
        again = {"retry-after": str(self.retry_seconds)} if self.retry_seconds is not None else {}
        anthropic = scope["path"].startswith("/v1/messages") or "anthropic-version" in Headers(scope=scope)
        body = self.body(anthropic=anthropic)
        return JSONResponse(body, self.status, headers=again or {"x-should-retry": "false"})
