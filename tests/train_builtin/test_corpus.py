"""The corpus: repeatable, without held-out prompts, with correct copying tasks."""

import random
import re
from functools import cache
from itertools import islice

import pytest

from train_builtin.code_tasks import CODE
from train_builtin.copying_tasks import COPYING, drill, repeat, sort_words, upper
from train_builtin.corpus import (
    SYSTEM_SHORT,
    Conversation,
    held_out_conversations,
    is_held_out,
    normalise,
    training_conversations,
)
from train_builtin.mixtures import WEIGHTS
from train_builtin.number_tasks import NUMBERS, add
from train_builtin.texts import TEXTS, mend_text, quote, rename_in_code, repeat_text, replace_name
from train_builtin.topics import choose_words, read_topics
from train_builtin.turns import again_turns
from train_builtin.wording import mistype, third_person

SOURCES = {source for source, weight in WEIGHTS.items() if weight}


@cache
def trained() -> list[Conversation]:
    return list(islice(training_conversations(1), 1000))


def test_a_seed_fixes_the_corpus():
    first = list(islice(training_conversations(7), 50))
    assert first == list(islice(training_conversations(7), 50))
    assert first != list(islice(training_conversations(8), 50))


def test_held_out_prompts_cover_every_subject_and_never_occur_in_training():
    conversations = list(islice(held_out_conversations(0), 300))
    assert {c.turns[0].source for c in conversations} == SOURCES
    held_out = {normalise(c.turns[0].prompt) for c in conversations}
    assert len(held_out) > 150
    for conversation in trained():
        for turn in conversation.turns:
            if turn.question is not None:
                assert normalise(turn.prompt) not in held_out
                assert not is_held_out(turn.question)


def test_every_source_occurs_and_some_conversations_have_many_turns():
    drawn = trained()
    assert {turn.source for c in drawn for turn in c.turns} == SOURCES
    assert max(len(c.turns) for c in drawn) >= 6
    assert any(c.system in SYSTEM_SHORT for c in drawn)
    for conversation in drawn:
        roles = [m["role"] for m in conversation.messages() if m["role"] != "system"]
        assert roles == ["user", "assistant"] * len(conversation.turns)


@pytest.mark.parametrize(
    "task", dict.fromkeys([*NUMBERS, *COPYING, *CODE, *TEXTS, drill]), ids=lambda task: task.__name__
)
def test_every_task_gives_text_without_holes(task):
    for seed in range(15):
        prompt, answer = task(random.Random(seed))
        assert prompt and answer and answer == answer.strip()
        assert "{}" not in (prompt + answer).replace(" = {}", "")


def test_tasks_are_answered_rightly():
    for seed in range(30):
        prompt, answer = repeat(random.Random(seed))
        assert prompt.endswith(answer)
        prompt, answer = upper(random.Random(seed))
        assert answer.lower() in prompt.lower() and answer.isupper()
        _, answer = add(random.Random(seed))
        left, right = answer.rstrip(".").split(" = ")
        assert sum(map(int, left.split(" + "))) == int(right)
        prompt, answer = sort_words(random.Random(seed))
        assert answer.split(", ") == sorted(prompt.split(": ")[1].split(", "))


def test_tasks_on_whole_texts_are_answered_from_the_text():
    for seed in range(30):
        prompt, answer = repeat_text(random.Random(seed))
        assert answer in prompt
        prompt, answer = quote(random.Random(seed))
        assert answer in prompt and answer.count(".") == 1
        prompt, answer = mend_text(random.Random(seed))
        given = prompt.split(":", 1)[1].strip()
        assert given != answer and sorted(given) == sorted(answer)
        prompt, answer = replace_name(random.Random(seed))
        given = prompt.split(":", 1)[1].split()
        assert given != answer.split() and len(given) == len(answer.split())
        prompt, answer = rename_in_code(random.Random(seed))
        assert answer.startswith("```python") and answer.endswith("```")


def test_an_answer_asked_for_again_is_the_same_answer():
    for seed in range(30):
        first, again = again_turns(random.Random(seed))
        assert again.answer == first.answer


def test_a_task_in_the_third_person_reads_well():
    tasks = {"reverse a string": "reverses a string", "catch an exception": "catches an exception"}
    assert {task: third_person(task) for task in tasks} == tasks


@pytest.mark.parametrize("name", ["speculative", "program", "computing", "smalltalk", "code"])
def test_every_topic_can_be_asked_for_and_answered(name):
    for topic in read_topics(name):
        assert topic.names or topic.tasks or topic.questions
        assert topic.answers
        for text in [*topic.answers, *topic.more, *topic.short, *topic.examples, *topic.reasons]:
            chosen = choose_words(text, random.Random(0))
            assert len(chosen) < 1500
            assert not re.search(r"\{[^}]*\|", chosen)


def test_a_typing_error_changes_little():
    rng = random.Random(0)
    for _ in range(20):
        wrong = mistype("what is speculative decoding", rng)
        assert abs(len(wrong) - len("what is speculative decoding")) <= 1
