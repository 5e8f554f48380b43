"""What the engine process tells, sent from a thread of its own: deciding tokens does not wait for the pipe.

Text that comes faster than anybody reads it is joined: each event costs both ends of the pipe.
"""

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection

from app.engine.events import TextAdded, merged
from app.engine.protocol import Answered, EngineEvent

JOIN_SECONDS = 1 / 20
"""So long after a text what follows is gathered."""


class Outbox:
    """Sends events in the order they were put in."""

    def __init__(self, events: Connection) -> None:
        self._events = events
        self._waiting: queue.SimpleQueue[EngineEvent | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send, name="events", daemon=True)
        self._thread.start()

    def send(self, event: EngineEvent) -> None:
        """Have an event sent.

        Raises:
            BrokenPipeError: nobody reads them any more.
        """
        if not self._thread.is_alive():
            raise BrokenPipeError("the events' reader is gone")
        self._waiting.put(event)

    def close(self) -> None:
        """Return when all is sent that can be."""
        self._waiting.put(None)
        self._thread.join()

    def _send(self) -> None:
        while True:
            events = [self._waiting.get()]
            while not self._waiting.empty():
                events.append(self._waiting.get())
            try:
                for event in _joined([event for event in events if event is not None]):
                    self._events.send(event)
            except OSError:
                return
            if events[-1] is None:
                return
            if isinstance(events[-1], Answered) and isinstance(events[-1].event, TextAdded):
                time.sleep(JOIN_SECONDS)


def _joined(events: Sequence[EngineEvent]) -> list[EngineEvent]:
    """The events, neighbouring texts of one answer made one with the later one's numbers."""
    out: list[EngineEvent] = []
    for event in events:
        last = out[-1] if out else None
        if (
            isinstance(event, Answered)
            and isinstance(last, Answered)
            and event.id == last.id
            and isinstance(event.event, TextAdded)
            and isinstance(last.event, TextAdded)
        ):
            pieces = merged((*last.event.pieces, *event.event.pieces))
            played = (*last.event.played, *event.event.played)
            out[-1] = Answered(event.id, replace(event.event, pieces=pieces, played=played))
        else:
            out.append(event)
    return out
