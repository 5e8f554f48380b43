"""Requests to an engine, and its events."""

import time
from collections.abc import Callable

from app.engine.client import EngineClient
from app.engine.events import TextAdded, TurnEnded, text_of
from app.engine.protocol import Answer, Answered, AnswerFailed, EngineEvent, Request
from app.engine.server_client import ServerClient
from app.settings.options import AnswerOptions
from models.pairs.pair import PairSpec, Source


def spec(name: str = "scripted") -> PairSpec:
    return PairSpec(name, Source("/target"), Source("/draft"))


def ask(answer_id: int, text: str, options: AnswerOptions | None = None) -> Answer:
    return Answer(answer_id, ({"role": "user", "content": text},), options or AnswerOptions())


Enough = Callable[[list[EngineEvent]], bool]


def exchange(client: EngineClient | ServerClient, *requests: Request, until: Enough) -> list[EngineEvent]:
    """Send the requests and poll; fails after a minute and shows the events so far."""
    for request in requests:
        client.send(request)
    events: list[EngineEvent] = []
    end = time.monotonic() + 60
    while not until(events):
        assert time.monotonic() < end, f"still waiting after {events}"
        time.sleep(0.01)
        events += client.poll()
    return events


def ended(answer_id: int) -> Enough:
    def is_end(event: EngineEvent) -> bool:
        match event:
            case Answered(id, TurnEnded()) | AnswerFailed(id):
                return id == answer_id
        return False

    return lambda events: any(map(is_end, events))


def answer_of(events: list[EngineEvent], answer_id: int) -> TurnEnded:
    """The answer's last event, whose text must be the sum of its pieces."""
    answered = [e.event for e in events if isinstance(e, Answered) and e.id == answer_id]
    (end,) = [event for event in answered if isinstance(event, TurnEnded)]
    assert end.text == "".join(text_of(event.pieces) for event in answered if isinstance(event, TextAdded))
    return end


def has(kind: type[EngineEvent], count: int = 1) -> Enough:
    return lambda events: sum(isinstance(e, kind) for e in events) >= count
