"""The adaptive draft length against every fixed one, in simulated time: costs and acceptance are given."""

import random
from collections.abc import Callable

import pytest

from mlx_spec.controller import HOPE, Acceptance, Controller, Costs
from mlx_spec.types import Round

CURVES = {
    "flat": [1, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4],
    "uneven": [1, 1.05, 1.26, 1.08, 1.28, 1.3, 1.33, 1.4, 1.45],
    "m4pro": [1, 1.0, 1.13, 1.45, 1.75, 2.05, 2.4, 2.8, 3.3],
    "linear": [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5],
    "never pays": [1, 2.1, 3.2, 4.3, 5.4, 6.5, 7.6, 8.7, 9.8],
}
"""Verify cost by draft length, in plain rounds."""
STEP_COSTS = (0.05, 0.13, 0.3)
ACCEPTANCES = (0.02, 0.3, 0.6, 0.9)
TOKENS, PROMPTS = 128, 10

Choose = Callable[[], tuple[str, int]]


def costs(curve: str, step: float, rng: random.Random, error: float = 0.02) -> Costs:
    """Costs as they were measured: nearly right."""
    measured = {k: (v + step * k) * rng.lognormvariate(0, error) for k, v in enumerate(CURVES[curve])}
    return Costs(measured.pop(0), {"model": measured})


def answer(curve: str, step: float, rate: float, rng: random.Random, choose: Choose, told=None) -> float:
    """Time of one answer of TOKENS tokens."""
    spent, tokens = 0.0, 0
    while tokens < TOKENS:
        name, k = choose()
        accepted = 0
        while accepted < k and rng.random() < rate:
            accepted += 1
        spent += (CURVES[curve][k] + step * k) * rng.lognormvariate(0, 0.05)
        tokens += accepted + 1
        if told:
            told(Round(tuple(range(k)), accepted, tuple(range(accepted + 1)), name, 0.0))
    return spent / tokens


def fixed(curve: str, step: float, rate: float) -> list[float]:
    """Expected time per token of every fixed length."""
    return [(v + step * k) / sum(rate**i for i in range(k + 1)) for k, v in enumerate(CURVES[curve])]


def adaptive(curve: str, step: float, rates: list[float], seed: int = 1) -> list[float]:
    """Time per token of each answer of a chat whose prompts have these acceptances in turn."""
    rng = random.Random(seed)
    controller = Controller(costs(curve, step, rng))
    times = []
    for number in range(PROMPTS * len(rates)):
        controller.begin()
        rate = rates[number % len(rates)]
        times.append(answer(curve, step, rate, rng, lambda: controller.choose(["model"]), controller.count))
    return times


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("step", STEP_COSTS)
def test_it_is_never_slower_than_plain_and_near_the_best_fixed_length(curve, step):
    for rate in ACCEPTANCES:
        plain, *_ = known = fixed(curve, step, rate)
        mine = sum(adaptive(curve, step, [rate])) / PROMPTS
        assert plain / mine > 0.97, (rate, plain / mine)
        assert min(known) / mine > 0.92, (rate, min(known) / mine)


@pytest.mark.parametrize(("curve", "step"), [("uneven", 0.13), ("m4pro", 0.1), ("flat", 0.1)])
def test_it_follows_prompts_of_changing_kind(curve, step):
    rates = [0.05, 0.9, 0.5, 0.02]
    mine = adaptive(curve, step, rates)
    best = [min(fixed(curve, step, rate)) for rate in rates]
    plain = fixed(curve, step, 0.5)[0]
    assert sum(best) * PROMPTS / sum(mine) > 0.94
    assert plain * len(mine) / sum(mine) > 1.1


def test_a_drafter_that_became_good_is_found_again():
    controller = Controller(Costs(1.0, {"model": {1: 1.3, 2: 1.5, 4: 1.8}}))
    for _ in range(60):
        name, k = controller.choose(["model"])
        controller.count(Round(tuple(range(k)), 0, (1,), name, 0.0))
    assert controller.choose(["model"]) == ("none", 0)
    tried = 0
    for _ in range(2000):
        name, k = controller.choose(["model"])
        controller.count(Round(tuple(range(k)), k, tuple(range(k + 1)), name, 0.0))
        tried += k > 0
    assert tried > 1000 and controller.choose(["model"])[1] == 4


def test_a_drafter_that_stays_bad_is_tried_rarely():
    controller = Controller(Costs(1.0, {"model": {1: 1.3, 2: 1.5, 4: 1.8}}))
    tried = 0
    for _ in range(1000):
        name, k = controller.choose(["model"])
        controller.count(Round(tuple(range(k)), 0, (1,), name, 0.0))
        tried += k > 0
    assert 2 <= tried <= 20


def test_the_better_of_two_drafters_drafts():
    controller = Controller(Costs(1.0, {"model": {3: 1.5}, "lookup": {3: 1.1}}))
    for _ in range(30):
        controller.count(Round((1, 2, 3), 3, (1, 2, 3, 4), "lookup", 0.0))
        controller.count(Round((1, 2, 3), 2, (1, 2, 9), "model", 0.0))
    assert controller.choose(["lookup", "model"])[0] == "lookup"
    assert controller.choose(["model"])[0] == "model"
    for _ in range(60):
        controller.count(Round((1, 2, 3), 0, (9,), "lookup", 0.0))
    assert controller.choose(["lookup", "model"])[0] == "model"


def test_costs_between_measured_lengths_lie_on_a_line():
    known = Costs(1.0, {"model": {2: 2.0, 4: 3.0}})
    assert [known.of("model", k) for k in range(5)] == [1.0, 1.5, 2.0, 2.5, 3.0]
    assert known.longest("model") == 4


def test_positions_past_the_first_rejection_are_not_counted():
    known = Acceptance()
    known.count(4, 1)
    assert len(known.tried) == 2 and known.stood == [1.0, 0.0]
    assert known.expected(0) == 1.0
    assert known.expected(2, HOPE) > known.expected(2)
