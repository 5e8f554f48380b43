"""A session reads a conversation: turns that do not fit are left out, and nobody else waits for it."""

import gc
import threading
import weakref
from concurrent.futures import wait
from typing import Any

import pytest

from app.engine.events import TurnEnded, TurnsDropped
from app.engine.protocol import Answer
from app.engine.session import Message
from app.settings.options import AnswerOptions
from mlx_spec.errors import ContextFull
from tests.app.engine.playing import USER, play
from tests.app.scripted_pair import ByteTokenizer, scripted_session


class CountingTokenizer(ByteTokenizer):
    """Counts how often a conversation is tokenized."""

    def __init__(self) -> None:
        self.read = 0

    def apply_chat_template(self, messages: Any, add_generation_prompt: bool) -> list[int]:
        self.read += 1
        return super().apply_chat_template(messages, add_generation_prompt)


class HeldTokenizer(ByteTokenizer):
    """Reads a conversation only once it may, as it takes seconds for a text of megabytes."""

    def __init__(self) -> None:
        self.may, self.begun = threading.Event(), threading.Event()
        self.read: list[str] = []

    def apply_chat_template(self, messages: Any, add_generation_prompt: bool) -> list[int]:
        self.begun.set()
        self.may.wait(10)
        self.read.append(messages[-1]["content"])
        return super().apply_chat_template(messages, add_generation_prompt)


@pytest.fixture
def tokenizer(monkeypatch: pytest.MonkeyPatch) -> HeldTokenizer:
    """One that holds a text until the test lets it go, looked for often."""
    monkeypatch.setattr("app.engine.session.LOOK_SECONDS", 0.001)
    return HeldTokenizer()


def test_other_answers_go_on_and_a_cancel_is_seen_while_a_long_text_is_tokenized(
    tokenizer: HeldTokenizer,
) -> None:
    session, engine = scripted_session("ok", tokenizer=tokenizer)
    reading = session.answer(Answer(0, USER, AnswerOptions()))
    assert [next(reading), next(reading)] == [None, None]
    readers = [thread for thread in threading.enumerate() if thread.name == "prompt"]
    assert readers and all(thread.daemon for thread in readers), "the program ends without waiting"
    _, ended = play(session, cancelled=lambda: True)
    assert ended.finish_reason == "cancelled" and not engine.prompts
    tokenizer.may.set()
    *_, ended = reading
    assert isinstance(ended, TurnEnded) and ended.text == "ok"


def test_short_texts_are_tokenized_before_long_ones_that_came_earlier(tokenizer: HeldTokenizer) -> None:
    """Texts of megabytes take ten seconds each."""
    session, _ = scripted_session("ok", tokenizer=tokenizer)
    said = [("x" * letters) for letters in (1, 1000, 100, 10)]
    asked = [Answer(0, ({"role": "user", "content": text},), AnswerOptions(), counts=True) for text in said]
    answers = [session.answer(each) for each in asked]
    assert [next(answer) for answer in answers] == [None] * 4
    tokenizer.may.set()
    counted = [[*answer][-1] for answer in answers]
    assert all(isinstance(ended, TurnEnded) for ended in counted)
    assert tokenizer.read == sorted(said, key=len)


def test_rounds_do_not_wait_for_texts_that_wait_to_be_tokenized(
    tokenizer: HeldTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There may be 60 of them."""
    seconds = list[float]()
    session, _ = scripted_session("ok", tokenizer=tokenizer)
    first, second = (session.answer(Answer(0, USER, AnswerOptions(), counts=True)) for _ in range(2))
    while not tokenizer.begun.is_set():
        next(first)
    monkeypatch.setattr("app.engine.session.wait", lambda _, look: seconds.append(look) or wait(_, look))
    for answer in (first, second, second, first, second):
        next(answer)
    assert seconds == [0.001, 0.001, 0, 0.001, 0]
    tokenizer.may.set()
    assert all(isinstance([*answer][-1], TurnEnded) for answer in (first, second))


def test_what_was_cancelled_is_forgotten_while_another_text_is_tokenized(tokenizer: HeldTokenizer) -> None:
    """A client may send megabytes and leave, again and again."""
    session, _ = scripted_session("ok", tokenizer=tokenizer)
    first = session.answer(Answer(0, USER, AnswerOptions(), counts=True))
    while not tokenizer.begun.is_set():
        next(first)

    def left() -> bool:
        return True

    asked = weakref.ref(left)
    (ended,) = session.answer(Answer(1, USER, AnswerOptions()), left)
    assert isinstance(ended, TurnEnded) and ended.finish_reason == "cancelled"
    del left
    gc.collect()
    assert asked() is None, "something holds the request"
    tokenizer.may.set()
    assert isinstance([*first][-1], TurnEnded)


def long_history(turns: int, last: str = "last") -> list[Message]:
    messages: list[Message] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"question {turn} "})
        messages.append({"role": "assistant", "content": "x" * (turn % 7)})
    return [*messages, {"role": "user", "content": last}]


def test_oldest_turns_are_dropped_only_after_an_event_and_instructions_stay() -> None:
    history: list[Message] = [{"role": "system", "content": "be kind"}, *long_history(6)]
    session, _ = scripted_session("ok", context_limit=150)
    first = next(iter(session.answer(Answer(0, tuple(history), AnswerOptions(max_tokens=40)))))
    assert isinstance(first, TurnsDropped)
    ids, dropped = session.prompt_ids(history, 40)
    text = bytes(ids).decode()
    assert first.count == dropped == 2 * next(turn for turn in range(6) if f"question {turn}" in text)
    assert text.startswith("<system>be kind<user>question") and text.endswith("<user>last")
    assert len(ids) <= 150 - 37


@pytest.mark.parametrize("limit", [40, 200, 1000, 3000, 60_000])
def test_a_long_conversation_is_fitted_in_few_tries_and_loses_no_turn_that_fits(limit: int) -> None:
    tokenizer, history = CountingTokenizer(), long_history(1000)
    session, _ = scripted_session("ok", tokenizer=tokenizer, context_limit=limit)
    ids, dropped = session.prompt_ids(history, limit // 4)
    assert tokenizer.read <= 12
    room = limit - limit // 4
    assert len(ids) <= room and ids == session.prompt_ids(history[dropped:], limit // 4)[0]
    assert not dropped or session.prompt_ids(history[dropped - 2 :], limit // 4) == (ids, 2)


def test_a_last_message_that_does_not_fit_stays_and_instructions_that_fill_the_context_are_named() -> None:
    session, _ = scripted_session("ok", context_limit=20)
    ids, dropped = session.prompt_ids(history := long_history(3, "y" * 50), 4)
    assert (bytes(ids), dropped) == (b"<user>" + b"y" * 50, 6)
    assert not isinstance(
        next(session.answer(Answer(0, (*history,), AnswerOptions(max_tokens=4)))), TurnsDropped
    )
    with pytest.raises(ContextFull, match="30 tokens > 20.*Shorten the chat's instructions"):
        session.prompt_ids([{"role": "system", "content": "z" * 14}, *USER], 4)


def test_cancelling_while_a_conversation_is_fitted_ends_at_once_without_text() -> None:
    tokenizer = CountingTokenizer()
    session, engine = scripted_session("ok", tokenizer=tokenizer, context_limit=200)
    added, ended = play(session, prompt=long_history(1000), cancelled=lambda: True)
    assert (added, ended.text, ended.finish_reason) == ([], "", "cancelled")
    assert tokenizer.read == 1 and not engine.prompts
