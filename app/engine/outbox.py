"""What the engine process sends, from a thread of its own: deciding tokens does not wait for the pipe.

Text that comes faster than it is read is joined: each event costs both ends of the pipe.
"""

import queue
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection

from app.engine.events import TextAdded, merged
from app.engine.protocol import Answered, EngineEvent

JOIN_SECONDS = 1 / 20
"""After a text, what follows is gathered for this long."""


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
            BrokenPipeError: the reader is gone.
        """
        if not self._thread.is_alive():
            raise BrokenPipeError("the events' reader is gone")
        self._waiting.put(event)

    def close(self) -> None:
        """Return when all is sent that can be."""
        self._waiting.put(None)
        self._thread.join()

    def _send(self) -> None:
        with suppress(OSError):
            while True:
                events = [self._waiting.get()]
                while not self._waiting.empty():
                    events.append(self._waiting.get())
                for event in _joined(event for event in events if event is not None):
                    self._events.send(event)
                match events[-1]:
                    case None:
                        return
                    case Answered(_, TextAdded()):
                        time.sleep(JOIN_SECONDS)


def _joined(events: Iterable[EngineEvent]) -> list[EngineEvent]:
    """The events, neighbouring texts of one answer made one with the later one's numbers."""
    out: list[EngineEvent] = []
    for event in events:
        match out[-1:], event:
            case [Answered(before, TextAdded() as first)], Answered(after, TextAdded() as text) if (
                before == after
            ):
                pieces, played = merged((*first.pieces, *text.pieces)), (*first.played, *text.played)
                out[-1] = Answered(after, replace(text, pieces=pieces, played=played))
            case _:
                out.append(event)
    return out
