"""Events of an answer as lines of JSON, where the engine is not this machine's own process."""

import json
from functools import cache
from typing import Any, get_args

from pydantic import TypeAdapter

from app.engine.events import PairInfo, TurnEvent

PAIR = TypeAdapter(PairInfo)
_KINDS = {kind.__name__: kind for kind in get_args(TurnEvent)}


class Refused(Exception):
    """What the other side says in place of an event. `refused`: nothing failed there."""

    def __init__(self, message: str, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused


def event_line(event: TurnEvent) -> str:
    """One line."""
    kind = type(event).__name__
    return json.dumps({kind: _adapter(kind).dump_python(event, mode="json")}) + "\n"


def problem_line(message: str, *, refused: bool) -> str:
    """One line in place of the last event."""
    return json.dumps({"problem": message, "refused": refused}) + "\n"


def read_line(line: str) -> TurnEvent | None:
    """The event; None of an empty line. Refused for a problem; ValueError for what is neither."""
    if not line.strip():
        return None
    found = json.loads(line)
    if "problem" in found:
        raise Refused(found["problem"], found["refused"])
    (kind, value), *_ = found.items()
    if kind not in _KINDS:
        raise ValueError(f"the event {kind} is not known here")
    return _adapter(kind).validate_python(value)


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(_KINDS[kind])
