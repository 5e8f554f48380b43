"""A pair that another one replaces before its turn to be opened."""

from app.engine.client import EngineClient
from app.engine.protocol import Answered, AnswerFailed, Cancel, Load, Loaded, LoadFailed
from tests.app.engine.exchange import ask, ended, exchange, has, spec


def test_a_pair_that_was_left_before_its_turn_is_not_opened(threaded: EngineClient) -> None:
    events = exchange(threaded, Load(spec("first")), ask(1, "slow"), until=has(Answered))
    # All have arrived once the answer is cancelled.
    left = Load(spec("left")), ask(2, "hello"), Load(spec("last")), Cancel(1)
    events += exchange(threaded, *left, ask(3, "hello"), until=ended(3))
    assert [event.info.name for event in events if isinstance(event, Loaded)] == ["first", "last"]
    why = "Another pair was chosen before this one was opened."
    assert LoadFailed(why, refused=True) in events and AnswerFailed(2, why) in events
