"""An answer's events as lines of JSON, for an engine behind HTTP."""

from pydantic import TypeAdapter

from app.engine.events import PairInfo, TurnEvent
from app.engine.protocol import AnswerFailed

PAIR = TypeAdapter(PairInfo)
LINE: TypeAdapter[TurnEvent | AnswerFailed] = TypeAdapter(TurnEvent | AnswerFailed)
"""An event, or an error in place of the last one."""
