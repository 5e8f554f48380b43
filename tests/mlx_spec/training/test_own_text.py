"""Training texts that a target writes: questions, answers, and tasks on texts that it wrote before."""

from collections.abc import Callable
from itertools import islice

import mlx.nn as nn
import pytest

from mlx_spec.training import own_text
from mlx_spec.training.own_text import Sizes, Template, own_texts
from tests.mlx_spec.model_types import build
from tests.mlx_spec.tiny_models import VOCAB, one_layer

QUESTION, TASK, ANSWER = [1, 2], [3, 4, 5], [6, 7]
ENDS = frozenset(range(8, VOCAB, 8))
SIZES = Sizes(rows=4, asked=6, answered=10, temperatures=(0.0, 0.8))


def test_a_task_gives_an_answer_that_was_written_before_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(own_text, "GIVEN", 0.5)
    template = Template(QUESTION, ANSWER, ENDS, tasks=[TASK])
    written: list[list[int]] = []
    tasks = stopped = goes_on = 0
    for text in islice(own_texts(one_layer(), template, 1, SIZES), 40):
        begun, answer = list(text.tokens[: text.begin]), list(text.tokens[text.begin :])
        assert begun[:2] == QUESTION and begun[-2:] == ANSWER
        if begun[2:5] == TASK:
            tasks += 1
            assert begun[5:-2] in written
        ended = answer[-1] in ENDS
        goes_on += ANSWER[0] in answer[:-1]
        stopped += ended
        written.append(answer[:-1] if ended else answer)
    assert 10 < tasks < 36 and 5 < stopped < 36 and goes_on, "what ends a question does not end an answer"


def test_where_there_are_passages_a_task_gives_one_of_those() -> None:
    template = Template(QUESTION, ANSWER, ENDS, tasks=[TASK])
    passages = [[9, 10, 11], [12, 13]]
    texts = islice(own_texts(one_layer(), template, 1, SIZES, passages), 40)
    begun = [list(text.tokens[: text.begin]) for text in texts]
    given = [each[5:-2] for each in begun if each[2:5] == TASK]
    assert 5 < len(given) < 35 and all(passage in given for passage in passages)
    assert all(each in passages for each in given)


@pytest.mark.parametrize("make", [one_layer, lambda: build("gemma2")], ids=["llama", "gemma2"])
def test_without_tasks_every_question_is_its_own(make: Callable[[], nn.Module]) -> None:
    template = Template(QUESTION, ANSWER, ENDS)
    texts = list(islice(own_texts(make(), template, 1, SIZES), 8))
    assert all(len(QUESTION) <= text.begin - len(ANSWER) <= len(QUESTION) + SIZES.asked for text in texts)
