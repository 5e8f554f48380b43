"""The draft length of several texts in simulated time: costs by batch size, texts and noise are given."""

import random

import numpy as np
import pytest

from benchmarks.policy_worlds import DRAIN, OUTLIERS, TEXTS
from mlx_spec.candidate import NO_CANDIDATE
from mlx_spec.drafters.model import CANDIDATE
from mlx_spec.policy.budget import START, Budget
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.costs import Costs, RoundCost
from mlx_spec.types import Round
from tests.mlx_spec.grid import grid

THIS_CPU = {1: 1.0, 2: 1.6, 4: 1.9, 8: 2.6, 12: 3.3, 16: 4.0, 32: 6.6, 64: 11.9, 256: 45.0}
"""Time of passes by rows, in passes over one row: a 12 x 256 target here, minima."""
M3_MAX = {1: 1.0, 2: 1.05, 4: 1.5, 5: 1.9, 8: 3.0, 12: 4.2, 13: 4.6, 32: 4.6, 33: 9.2, 64: 9.2, 256: 37.0}
"""As published for 4-bit weights: a tile of 32 rows at one price."""
STEEP = {1: 1.0, 256: 256.0}
CURVES = {"this CPU": THIS_CPU, "M3 Max": M3_MAX, "steep": STEEP}
STEP = 0.05
"""Time of drafting one token of one text, in plain rounds of one; with more texts it grows as passes do."""
TOKENS, ANSWER = 400, 96
"""Tokens written at each place, and tokens of a text before the next one takes its place."""


def passes(curve: str, rows: int) -> float:
    points = CURVES[curve]
    return float(np.interp(rows, list(points), list(points.values())))


def takes(curve: str, texts: int, k: int) -> float:
    return passes(curve, texts * (k + 1)) + STEP * k * passes(curve, texts)


def of_one(curve: str) -> Costs:
    """What calibration measures: costs of single texts."""
    longest = {"model": 15, "lookup": 31}
    rounds = {
        name: {k: RoundCost(passes(curve, k + 1) + STEP * k * (name == "model")) for k in range(1, most + 1)}
        for name, most in longest.items()
    }
    return Costs(RoundCost(1.0), rounds)


def played(
    curve: str, texts: int, kind: str, tokens: int = 300, seed: int = 1, measured: bool = True
) -> float:
    """Speedup over plain rounds of the same batch size; texts join and leave."""
    rng, answer = random.Random(seed), ANSWER
    planner = Controller(of_one(curve) if measured else Costs()).of(texts)
    numbers, rates = list(range(texts)), [TEXTS[kind](rng, answer) for _ in range(texts)]
    at = [rng.randrange(answer) for _ in range(texts)]
    planner.begin(numbers)
    spent = gained = 0.0
    before, fresh = "none", True
    rested = 1
    while gained < TOKENS * texts:
        candidate, k = NO_CANDIDATE, 0
        if not fresh:
            candidate, k = planner.choose([CANDIDATE], 100)
        name = "model" if k else "none"
        took = takes(curve, texts, k) + DRAIN * (name != before)
        if candidate is not NO_CANDIDATE and not k:
            took += STEP * passes(curve, texts)
        read, ended = {}, []
        for i in range(texts):
            right = [rng.random() < rate for rate in rates[i][at[i] : at[i] + k]]
            accepted = next((j for j, one in enumerate(right) if not one), len(right))
            read[numbers[i]] = (accepted, k)
            at[i] += accepted + 1
            ended += [i] if at[i] >= answer else []
        seen = took * rng.lognormvariate(0, 0.08) * (5 if rng.random() < OUTLIERS else 1)
        rounds = {
            number: Round(
                tuple(range(k)), a, tuple(range(a + 1)), name, seen, steady=name == before and not fresh
            )
            for number, (a, k) in read.items()
        }
        planner.count(rounds, candidate, 100)
        spent, gained = spent + took, gained + sum(a + 1 for a, _ in read.values())
        before, fresh, rested = name, bool(ended), rested + 1
        for i in ended:
            numbers[i], rates[i], at[i] = max(numbers) + 1, TEXTS[kind](rng, answer), 0
        if ended:
            planner.begin(numbers)
    return gained * passes(curve, texts) / texts / spent


def mean(curve: str, texts: int, kind: str, measured: bool = True) -> float:
    return float(np.mean([played(curve, texts, kind, seed=seed, measured=measured) for seed in range(1, 3)]))


@pytest.mark.parametrize(
    ("curve", "kind", "texts"),
    grid(
        CURVES,
        ("0.02", "0.50", "switching"),
        (2, 4, 8, 16),
        usual=[
            ("this CPU", "0.02", 2), ("this CPU", "0.50", 8), ("this CPU", "switching", 4),
            ("M3 Max", "0.02", 16), ("M3 Max", "0.50", 4), ("M3 Max", "switching", 8),
            ("steep", "0.02", 8), ("steep", "0.50", 2), ("steep", "switching", 16),
        ],
    ),
)  # fmt: skip
def test_batches_are_never_slower_than_plain_ones(curve: str, kind: str, texts: int):
    assert mean(curve, texts, kind) >= 0.97
    assert mean(curve, texts, kind, measured=False) >= 0.97


@pytest.mark.parametrize(
    ("curve", "texts", "least"), [("this CPU", 2, 1.3), ("this CPU", 16, 1.02), ("M3 Max", 8, 1.5)]
)
def test_drafts_that_pay_at_a_size_are_found(curve: str, texts: int, least: float):
    assert mean(curve, texts, "0.90") >= least


def test_a_size_where_no_length_pays_is_left_plain_though_its_neighbours_are_not():
    best = {b: max(takes("M3 Max", b, 0) / takes("M3 Max", b, k) * sum(0.6**j for j in range(k + 1))
                   for k in range(1, 8)) for b in (1, 3, 8)}  # fmt: skip
    assert best[1] > 1.2 and best[8] > 1.2 > best[3], "the world is the one that was meant"
    assert mean("M3 Max", 8, "0.65") > 1.1


def test_costs_of_one_size_are_not_those_of_another():
    planner = Controller(Costs(RoundCost(1.0), {"model": {1: RoundCost(1.1)}}))
    assert planner.of(1) is planner and planner.of(4) is planner.of(4) is not planner.of(8)
    assert planner.of(4).acceptance is planner.acceptance


def test_all_batch_sizes_share_one_budget():
    planner, lost = Controller(Costs(RoundCost(1.0), {"model": {1: RoundCost(1.1)}})), 0.0
    for texts in (1, 2, 4, 8, 16):
        at_once, plain = planner.of(texts), passes("M3 Max", texts)
        at_once.begin(range(texts))
        at_once.costs = Costs(RoundCost(plain), {"model": {1: RoundCost(1.1 * plain)}})
        for _ in range(16):
            k = at_once.choose([CANDIDATE], 100)[1]
            rejected = Round((1,) * k, 0, (1,), "model", 1.6 * plain if k else plain)
            at_once.count(dict.fromkeys(range(texts), rejected), CANDIDATE if k else NO_CANDIDATE, 100)
            lost += 0.6 * bool(k)
    assert 0 < lost <= START + 1, "and what plain rounds gave back"


def test_without_costs_of_its_own_and_a_budget_a_size_would_be_slower(monkeypatch):
    monkeypatch.setattr(Costs, "together", lambda self, texts: self)
    monkeypatch.setattr(Costs, "learn", lambda *_: "none")  # other sizes keep them as they were
    monkeypatch.setattr(Budget, "left", lambda self, plain: 1e9)
    assert not all(mean(curve, 4, "0.50") >= 0.97 for curve in CURVES)
