"""Closes idle connections: uvicorn waits forever for the head of a request."""

from asyncio import Transport

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS = 30.0
"""Interval of the checks; a connection with no new request and no answer in progress is closed."""


class ImpatientProtocol(H11Protocol):
    """Uvicorn's protocol with a limit on waiting."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._check, None)

    def _check(self, last: RequestResponseCycle | None) -> None:
        waits = self.cycle is last and (last is None or last.response_complete)
        if waits:
            self.transport.close()
        elif not self.transport.is_closing():
            self.loop.call_later(HEAD_SECONDS, self._check, self.cycle)
