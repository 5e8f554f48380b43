"""The engine process sends events in order, joins fast text, and holds nothing back for long."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from app.engine import process
from app.engine.events import Piece, TextAdded, text_of
from app.engine.process import Outbox
from app.engine.protocol import Answered, AnswerFailed, Tuning


def text(answer_id: int, words: str, tokens: int, *, thought: bool = False) -> Answered:
    pieces = (Piece(words, "plain", thought),)
    return Answered(answer_id, TextAdded(pieces, tokens, 0.1, 10.0, 0, ()))


@pytest.fixture
def ends() -> Iterator[tuple[Connection, Connection]]:
    reader, writer = Pipe(duplex=False)
    with reader, writer:
        yield reader, writer


def test_text_that_comes_faster_than_it_is_sent_arrives_as_one_event_with_the_last_numbers(ends, monkeypatch):
    reader, writer = ends
    monkeypatch.setattr(process, "JOIN_SECONDS", 0.1)
    box = Outbox(writer)
    box.send(text(1, "one", 1))
    first = reader.recv()
    for n, word in enumerate((" two", " three", " four"), 2):
        box.send(text(1, word, n))
    second = reader.recv()
    box.close()
    assert (text_of(first.event.pieces), text_of(second.event.pieces)) == ("one", " two three four")
    assert second.event.tokens == 4
    assert not reader.poll()


def test_a_thought_and_the_text_after_it_stay_apart_as_the_thoughts_tokens_are_counted(ends, monkeypatch):
    reader, writer = ends
    monkeypatch.setattr(process, "JOIN_SECONDS", 0.1)
    box = Outbox(writer)
    box.send(text(1, "one", 1))
    reader.recv()
    for n, word in enumerate(("I", " see", "So", " it is"), 1):
        box.send(text(2, word, n, thought=n < 3))
    box.close()
    found: list[TextAdded] = []
    while reader.poll():
        found.append(reader.recv().event)
    assert [(text_of(each.pieces), each.tokens) for each in found] == [("I see", 2), ("So it is", 4)]


def test_the_tokens_of_a_call_are_not_counted_as_those_of_the_thought_before_it(ends, monkeypatch):
    reader, writer = ends
    monkeypatch.setattr(process, "JOIN_SECONDS", 0.1)
    box = Outbox(writer)
    box.send(text(1, "one", 1))
    reader.recv()
    shown = text(2, "I see", 1, thought=True)
    silent = [replace(shown, event=replace(shown.event, pieces=(), tokens=n)) for n in range(2, 9)]
    for event in (shown, *silent):
        box.send(event)
    box.close()
    found: list[TextAdded] = []
    while reader.poll():
        found.append(reader.recv().event)
    assert [each.tokens for each in found if each.pieces] == [1] and found[-1].tokens == 8


def test_texts_of_two_answers_and_what_is_no_text_stay_apart_and_in_order(ends):
    reader, writer = ends
    box = Outbox(writer)
    sent = [text(1, "a", 1), AnswerFailed(1, "why"), text(2, "b", 1), text(3, "c", 1), Tuning(1, 2)]
    for event in sent:
        box.send(event)
    box.close()
    assert [reader.recv() for _ in sent] == sent


def test_what_ends_a_text_is_not_kept_waiting(ends, monkeypatch):
    reader, writer = ends
    monkeypatch.setattr(process, "JOIN_SECONDS", 20.0)
    box = Outbox(writer)
    for _ in range(3):
        box.send(text(1, "one", 1))
        assert reader.recv() == text(1, "one", 1)
        box.send(AnswerFailed(1, "why"))
        assert reader.poll(5) and reader.recv() == AnswerFailed(1, "why")
    box.close()


def test_sending_does_not_wait_for_the_pipe_nor_for_a_reader_that_is_gone(ends):
    """A pipe that is not read is full after 64 kB."""
    reader, writer = ends
    box = Outbox(writer)
    begun = time.monotonic()
    for n in range(100):
        box.send(Answered(n, text(n, "x" * 10_000, 1).event))
    assert time.monotonic() - begun < 5
    closing = threading.Thread(target=box.close)
    closing.start()
    assert [reader.recv().id for _ in range(50)] == list(range(50))
    reader.close()
    closing.join(10)
    assert not closing.is_alive()
