"""Costs of rounds, learned from timed rounds."""

import random

import pytest

from mlx_spec.policy.costs import PLAIN, Costs, RoundCost


def measured(step: float = 0.1) -> Costs:
    return Costs(RoundCost(1.0), {"model": {k: RoundCost(1 + step * k) for k in range(1, 9)}})


def relative(costs: Costs, k: int, length: int = 0) -> float:
    return costs.of("model", k, length) / costs.of(PLAIN, 0, length)


def test_a_machine_that_slows_down_during_plain_rounds_scales_the_costs_of_idle_drafters() -> None:
    costs = measured()
    for _ in range(20):
        costs.learn(PLAIN, 0, 1.5, 0)
    assert costs.of(PLAIN, 0) == pytest.approx(1.5, rel=0.03)
    assert relative(costs, 4) == pytest.approx(1.4, rel=0.03)


def test_a_machine_that_slowed_down_during_drafts_shows_in_the_plain_rounds_after_them() -> None:
    costs = measured()
    for _ in range(20):
        costs.learn("model", 4, 1.5 * 1.4, 0)
    for _ in range(6):
        costs.learn(PLAIN, 0, 1.5, 0)
    assert relative(costs, 4) == pytest.approx(1.4, rel=0.05)


def slowed(costs: Costs, factor: float) -> float:
    """The draft's cost relative to plain rounds' after the machine slowed down during six drafts."""
    for _ in range(20):
        costs.learn(PLAIN, 0, 1.0, 0)
        costs.learn("model", 4, 1.4, 0)
    for _ in range(6):
        costs.learn("model", 4, factor * 1.4, 0)
    return relative(costs, 4)


@pytest.mark.parametrize("factor", [1.1, 1.5, 3.0])
def test_a_machine_that_slows_down_during_drafts_does_not_make_them_seem_dear(factor: float) -> None:
    assert slowed(measured(), factor) == pytest.approx(1.4, rel=0.08)


def test_a_filter_that_takes_a_slower_machine_for_the_drafter_is_caught(monkeypatch) -> None:
    monkeypatch.setattr("mlx_spec.policy.costs.CHANGED", 1.0)
    monkeypatch.setattr("mlx_spec.policy.costs.SPEED_DRIFT", 0.0)
    assert slowed(measured(), 1.5) > 1.4 * 1.08


def found_out() -> float:
    """The draft's cost relative to plain rounds', believed 0.47 and truly 1.4, after two drafts and the two
    plain rounds of the probe that follows."""
    costs = Costs(RoundCost(1.0), {"model": {k: RoundCost((1 + 0.4 * k) / 3) for k in range(1, 9)}})
    for name, k, seconds in [(PLAIN, 0, 1.0)] * 4 + [("model", 1, 1.4)] * 2 + [(PLAIN, 0, 1.0)] * 2:
        costs.learn(name, k, seconds, 0)
    return relative(costs, 1)


def test_a_drafter_that_is_slower_than_was_believed_is_not_taken_for_a_slow_machine(monkeypatch) -> None:
    slower = 1.1
    assert found_out() > slower
    monkeypatch.setattr("mlx_spec.policy.costs.CHANGED", 1 / 32)
    assert found_out() < slower


def test_what_a_drafter_costs_more_than_was_thought_is_learned_from_rounds_beside_others() -> None:
    costs = measured()
    for _ in range(15):
        costs.learn(PLAIN, 0, 1.0, 0)
        costs.learn(PLAIN, 0, 1.0, 0)
        costs.learn("model", 4, 2.8, 0)
    assert relative(costs, 4) == pytest.approx(2.8, rel=0.1)
    assert relative(costs, 6) > 2.2, "its other lengths are likely to cost more too"


def first_reading() -> float:
    """A draft's cost after one reading of 1.1, calibrated in a moment when it took half as long again."""
    costs = Costs(RoundCost(1.0), {"model": {k: RoundCost(1.5 * (1 + 0.1 * k)) for k in range(1, 9)}})
    for _ in range(4):
        costs.learn(PLAIN, 0, 1.0, 0)
    costs.learn("model", 1, 1.1, 0)
    return relative(costs, 1)


def test_a_calibration_that_met_a_slow_moment_is_mostly_forgotten_at_the_first_reading() -> None:
    assert 1.1 < first_reading() < (1.1 + 1.65) / 2


def test_a_calibration_that_is_believed_like_a_reading_is_caught(monkeypatch) -> None:
    monkeypatch.setattr("mlx_spec.policy.costs.FACTOR_VARIANCE", 1 / 4)
    assert first_reading() > (1.1 + 1.65) / 2


def test_single_slow_rounds_teach_nothing() -> None:
    costs, rng = measured(), random.Random(1)
    for n in range(200):
        for k in (0, 3):
            seconds = (1 + 0.1 * k) * rng.lognormvariate(0, 0.05)
            costs.learn("model", k, seconds * (50 if n % 20 == k else 1), 0)
    assert relative(costs, 3) == pytest.approx(1.3, rel=0.06)


def test_lengths_never_run_inherit_from_their_neighbours() -> None:
    costs = Costs(RoundCost(1.0), {"model": {2: RoundCost(2.0), 4: RoundCost(3.0)}})
    assert costs.curve("model", 9).tolist() == [1.0, 1.5, 2.0, 2.5, 3.0, 3.5]
    assert costs.longest("model") == 4
    costs.learn("model", 5, 99.0, 0)
    assert costs.of("model", 5) == 3.5, "the first round of a new kind may compile"
    for _ in range(5):
        costs.learn("model", 5, 4.0, 0)
        costs.learn("model", 4, 3.0, 0)
    assert costs.of("model", 5) == pytest.approx(4.0, rel=0.03)
    costs.learn("model", 9, 99.0, 0)
    assert costs.longest("model") == 5
