"""Cuts off who opens a connection and does not ask: uvicorn waits for the head of a request for ever."""

from asyncio import Transport

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

HEAD_SECONDS = 30.0
"""How often it is looked whether a request is answered or has come since."""


class ImpatientProtocol(H11Protocol):
    """Uvicorn's own, with an end to waiting."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._look, None)

    def _look(self, last: RequestResponseCycle | None) -> None:
        waits = self.cycle is last and (last is None or last.response_complete)
        if waits:
            self.transport.close()
        elif not self.transport.is_closing():
            self.loop.call_later(HEAD_SECONDS, self._look, self.cycle)
