"""Acceptance rates, learned from rounds and shadow drafts."""

import numpy as np
import pytest

from mlx_spec.policy.acceptance import LEVELS, Acceptance


def rate(known: Acceptance) -> float:
    return float(known.now @ LEVELS)


def test_positions_past_the_first_rejection_are_not_counted():
    rounds = {drafted: Acceptance() for drafted in (2, 8)}
    for drafted, known in rounds.items():
        known.begin([1])
        known.count(1, drafted, 1)
    assert np.array_equal(rounds[2].now, rounds[8].now)


def test_accepted_tokens_and_shadow_results_teach_the_same():
    drafted, shadowed = Acceptance(), Acceptance()
    drafted.begin([1])
    shadowed.begin([1])
    drafted.count(1, 8, 5)
    shadowed.shadow(1, [True] * 5 + [False])
    assert rate(shadowed) == pytest.approx(rate(drafted), abs=0.05)


def test_an_unusual_answer_is_noticed_within_a_few_tokens_and_leaves_the_prior():
    known = Acceptance()
    for answer in range(20):
        known.begin([answer])
        known.count(answer, 8, 8)
    assert rate(known) > 0.9
    known.begin([20])
    before = rate(known)
    known.count(20, 4, 0)
    known.shadow(20, [False] * 4)
    assert before > 0.85 and rate(known) < 0.3
    known.begin([21])
    assert rate(known) > 0.55


def test_a_prior_that_weighs_more_withstands_more_rejections():
    rates = []
    for weight in (1.5, 5.0):
        known = Acceptance(0.6, weight)
        known.begin([1])
        known.count(1, 1, 0)
        known.count(1, 1, 0)
        rates.append(rate(known))
    assert rates[0] < 0.3 < 0.4 < rates[1]


def test_the_first_answers_count_as_much_each_as_the_prior():
    known = Acceptance(0.6)
    distances = []
    for text in range(3):
        known.begin([text])
        for _ in range(60):
            known.count(text, 1, 0)
        answer, before = known.now, known.usual
        known.begin([])
        distances.append(float(np.abs(known.usual - answer).sum() / np.abs(before - answer).sum()))
    assert distances == pytest.approx([1 / 2, 2 / 3, 3 / 4], abs=0.03)


def test_each_text_of_a_batch_has_its_own_weights_and_now_is_their_mean():
    known = Acceptance()
    known.begin([1, 2])
    for _ in range(9):
        known.count(1, 4, 4)
        known.count(2, 4, 0)
    both = rate(known)
    known.begin([1])
    good = rate(known)
    assert good > 0.9 and both < good - 0.3
    known.count(2, 4, 0)
    assert rate(known) == good, "a text that has ended teaches nothing"
