"""How likely drafted tokens are accepted, learned from rounds and shadow drafts."""

import numpy as np
import pytest

from mlx_spec.policy.acceptance import LEVELS, Acceptance


def rate(known: Acceptance) -> float:
    return float(known.now @ LEVELS)


def test_positions_past_the_first_rejection_are_not_counted():
    rounds = {drafted: Acceptance() for drafted in (2, 8)}
    for drafted, known in rounds.items():
        known.count(drafted, 1)
    assert np.array_equal(rounds[2].now, rounds[8].now)


def test_what_was_accepted_and_what_would_have_been_teach_the_same():
    drafted, shadowed = Acceptance(), Acceptance()
    drafted.count(8, 5)
    shadowed.shadow([True] * 5 + [False])
    assert rate(shadowed) == pytest.approx(rate(drafted), abs=0.05)


def test_an_answer_of_another_kind_shows_within_a_few_tokens_and_the_usual_remains():
    known = Acceptance()
    for _ in range(20):
        known.begin()
        known.count(8, 8)
    assert rate(known) > 0.9
    known.begin()
    before = rate(known)
    known.count(4, 0)
    known.shadow([False] * 4)
    assert before > 0.85 and rate(known) < 0.3
    known.begin()
    assert rate(known) > 0.55
