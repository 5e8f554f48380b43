"""Answers that one engine process writes side by side."""

from dataclasses import replace

from app.engine.client import EngineClient
from app.engine.protocol import Answered, AnswerFailed, Cancel, Load
from tests.app.engine.exchange import answer_of, ask, ended, exchange, spec


def test_answers_at_once_take_turns_and_a_pass_that_fails_ends_those_that_were_in_it(
    threaded: EngineClient,
) -> None:
    load, later = Load(spec(), at_once=2), ask(3, "hello")
    events = exchange(threaded, load, ask(1, "slow"), ask(2, "hello"), later, until=ended(3))
    assert not ended(1)(events), "a short answer waits for no long one"
    order = [event.id for event in events if isinstance(event, Answered)]
    assert order.index(3) > max(place for place, number in enumerate(order) if number == 2), "a third waits"
    events = exchange(threaded, ask(4, "fail"), until=ended(4))
    failed = [event for event in events if isinstance(event, AnswerFailed)]
    assert [event.id for event in failed] == [1, 4] and not any(event.refused for event in failed)
    assert answer_of(exchange(threaded, ask(5, "hello"), until=ended(5)), 5).finish_reason == "stop"


def test_a_request_that_fails_before_its_first_pass_ends_no_other(threaded: EngineClient) -> None:
    asks = ask(1, "slow"), ask(2, "unreadable"), Cancel(1)
    events = exchange(threaded, Load(spec(), at_once=2), *asks, until=lambda e: ended(1)(e) and ended(2)(e))
    assert [event.id for event in events if isinstance(event, AnswerFailed)] == [2]
    assert answer_of(events, 1).finish_reason == "cancelled"


def test_an_answer_does_not_wait_for_tokens_that_are_counted(threaded: EngineClient) -> None:
    count = replace(ask(1, "slow"), counts=True)
    exchange(threaded, Load(spec()), count, ask(2, "hello"), until=ended(2))
    exchange(threaded, Cancel(1), until=ended(1))
