"""An answer's events as lines of JSON, for an engine behind HTTP."""

import json
from functools import cache
from typing import Any, get_args

from pydantic import TypeAdapter

from app.engine.events import PairInfo, TurnEvent

PAIR = TypeAdapter(PairInfo)
_KINDS = {kind.__name__: kind for kind in get_args(TurnEvent)}


class Refused(Exception):
    """An error sent in place of an event. `refused`: the request was at fault, the server did not fail."""

    def __init__(self, message: str, refused: bool) -> None:
        super().__init__(message)
        self.refused = refused


def event_line(event: TurnEvent) -> str:
    kind = type(event).__name__
    return json.dumps({kind: _adapter(kind).dump_python(event, mode="json")}) + "\n"


def problem_line(message: str, *, refused: bool) -> str:
    """An error, in place of the last event."""
    return json.dumps({"problem": message, "refused": refused}) + "\n"


def read_line(line: str) -> TurnEvent | None:
    """The event; None for an empty line. Raises Refused for an error line, ValueError for anything else."""
    if not line.strip():
        return None
    match json.loads(line):
        case {"problem": str(message), "refused": bool(refused)}:
            raise Refused(message, refused)
        case {**found} if len(found) == 1 and (kind := next(iter(found))) in _KINDS:
            return _adapter(kind).validate_python(found[kind])
    raise ValueError("a line is no event that is known here")


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(_KINDS[kind])
