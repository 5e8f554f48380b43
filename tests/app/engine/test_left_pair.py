"""A pair that another one replaces before its turn to be opened."""

from pathlib import Path

from app.engine.events import TurnEnded
from app.engine.protocol import Answer, Answered, AnswerFailed, Cancel, EngineEvent, Load, Loaded, LoadFailed
from app.settings.options import AnswerOptions
from models.pairs.pair import PairSpec, Source
from tests.app.tui.engine_thread import ThreadedClient
from tests.waiting import until


def load(name: str) -> Load:
    return Load(PairSpec(name, Source("/target"), Source("/draft")))


def ask(answer_id: int, text: str) -> Answer:
    return Answer(answer_id, ({"role": "user", "content": text},), AnswerOptions())


def test_a_pair_that_was_left_before_its_turn_is_not_opened(tmp_path: Path) -> None:
    client, events = ThreadedClient(tmp_path / "engine.log"), list[EngineEvent]()

    def has(answer_id: int, *kinds: type) -> bool:
        events.extend(client.poll())
        return any(
            isinstance(e, Answered) and e.id == answer_id and isinstance(e.event, kinds) for e in events
        )

    client.start()
    for request in (load("first"), ask(1, "slow")):
        client.send(request)
    until(lambda: has(1, object))
    # All have arrived once the answer is cancelled.
    for request in (load("left"), ask(2, "hello"), load("last"), Cancel(1), ask(3, "hello")):
        client.send(request)
    until(lambda: has(3, TurnEnded))
    client.close()
    assert [event.info.name for event in events if isinstance(event, Loaded)] == ["first", "last"]
    why = "Another pair was chosen before this one was opened."
    assert LoadFailed(why, refused=True) in events and AnswerFailed(2, why) in events
