"""How many tokens of an answer are expected to come."""

from mlx_spec.policy.remaining import AHEAD, ANSWERS, Remaining


def after(*lengths: int) -> Remaining:
    """What is expected once answers of these lengths ended."""
    found = Remaining()
    for number, length in enumerate(lengths):
        found.begin([number])
        found.count({number: length})
    found.begin([len(lengths)])
    return found


def test_of_a_first_answer_as_much_is_expected_as_was_written():
    first = after()
    assert first.expected == AHEAD
    first.count({0: 300})
    assert first.expected == 300


def test_what_longer_answers_had_left_is_expected_and_shorter_ones_say_nothing():
    found = after(100, 20)
    assert found.expected == (AHEAD + 100 + 20) / 3
    found.count({2: 40})
    assert found.expected == (40 + 60) / 2
    found.count({2: 60})
    assert found.expected == 100


def test_texts_of_a_batch_have_their_own_tokens_and_those_that_leave_have_ended():
    found = Remaining()
    found.begin([1, 2])
    found.count({1: 60, 2: 10})
    assert found.expected == (60 + AHEAD) / 2
    found.begin([1, 3])
    found.count({1: 60})
    assert found.expected == (120 + (AHEAD + 10) / 2) / 2
    found.begin([])
    assert found.expected == (AHEAD + 10 + 120) / 3


def test_only_the_last_answers_are_remembered():
    assert after(*[1000] * ANSWERS, *[10] * ANSWERS).expected < AHEAD


def test_lengths_are_kept_with_those_of_answers_that_are_not_over():
    found = after(*range(1, ANSWERS), 70)
    found.count({ANSWERS: 80})
    assert Remaining(found.lengths).lengths == found.lengths == [*range(2, ANSWERS), 70, 80]
