"""The draft length of several texts in simulated time: costs by batch size, texts and noise are given."""

import random
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.policy_worlds import DRAIN, OUTLIERS, TEXTS
from mlx_spec.candidate import NO_CANDIDATE
from mlx_spec.drafters.lookup import CANDIDATES
from mlx_spec.drafters.model import CANDIDATE
from mlx_spec.policy import controller
from mlx_spec.policy.budget import START, Budget
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.costs import Costs, RoundCost
from mlx_spec.types import BATCH_SIZES, Round
from tests.mlx_spec.grid import grid

THIS_CPU = {1: 1.0, 2: 1.6, 4: 1.9, 8: 2.6, 12: 3.3, 16: 4.0, 32: 6.6, 64: 11.9, 256: 45.0}
"""Time of passes by rows, in passes over one row: a 12 x 256 target here, minima."""
M3_MAX = {1: 1.0, 2: 1.05, 4: 1.5, 5: 1.9, 8: 3.0, 12: 4.2, 13: 4.6, 32: 4.6, 33: 9.2, 64: 9.2, 256: 37.0}
"""As published for 4-bit weights: a tile of 32 rows at one price."""
FLAT = {1: 1.0, 2: 1.12, 4: 1.16, 8: 1.38, 16: 1.78, 24: 2.05, 32: 2.45, 64: 4.2, 256: 17.0}
"""Of smollm2-135m here."""
STEEP = {1: 1.0, 256: 256.0}
CURVES = {"this CPU": THIS_CPU, "M3 Max": M3_MAX, "flat": FLAT, "steep": STEEP}
STEP = 0.05
"""Time of drafting one token of one text, in plain rounds of one; with more texts it grows as passes do."""
READING = 0.01
"""Time of reading a missed token of all texts, in plain rounds of one."""
TOKENS, ANSWER = 400, 96
"""Tokens written at each place, and of a text before the next one takes its place."""


@cache
def passes(curve: str, rows: int) -> float:
    points = CURVES[curve]
    return float(np.interp(rows, list(points), list(points.values())))


def takes(curve: str, texts: int, k: int) -> float:
    return passes(curve, texts * (k + 1)) + STEP * k * passes(curve, texts)


def of_one(curve: str, model: int = 15, lookup: int = 31) -> Costs:
    """What calibration measures: costs of single texts, up to these draft lengths."""
    longest = {"model": model, "lookup": lookup}
    rounds = {
        name: {k: RoundCost(passes(curve, k + 1) + STEP * k * (name == "model")) for k in range(1, most + 1)}
        for name, most in longest.items()
    }
    return Costs(RoundCost(1.0), rounds)


def written(
    curve: str, texts: int, answers: list[list[float]], planner: Controller | None, seed: int, prompt: int = 0
) -> float:
    """Time until all answers are written, at most `texts` at once, given the acceptance rate of each token.

    Without a planner all rounds are plain. Before its first draft the drafter reads `prompt` tokens.
    """
    rng, spent, before = random.Random(seed), 0.0, ""
    left = [[*rates] for rates in answers]
    while any(left):
        live = [i for i, rates in enumerate(left) if rates][:texts]
        places = next(size for size in BATCH_SIZES if size >= len(live))
        if planner:
            planner.of(places).begin([1000 * seed + i for i in live])
        fresh, missed = True, prompt
        while all(left[i] for i in live):
            candidate, k = NO_CANDIDATE, 0
            if planner and not fresh:
                candidate, k = planner.of(places).choose([replace(CANDIDATE, behind=missed)], 100)
            name = "model" if k else "none"
            took = takes(curve, places, k) + DRAIN * (name != before) + READING * missed * bool(k)
            missed *= not k
            took += STEP * passes(curve, places) * (candidate is not NO_CANDIDATE and not k)
            seen = took * rng.lognormvariate(0, 0.08) * (5 if rng.random() < OUTLIERS else 1)
            read = {}
            for i in live:
                rejected = (j for j, rate in enumerate(left[i][:k]) if rng.random() > rate)
                accepted = min(next(rejected, k), len(left[i]) - 1)
                gained, steady = tuple(range(accepted + 1)), name == before and not fresh
                read[1000 * seed + i] = Round(tuple(range(k)), accepted, gained, name, seen, steady=steady)
                del left[i][: accepted + 1]
            if planner:
                planner.of(places).count(read, candidate, 100)
            spent, before, fresh = spent + took, name, False
    return spent


def played(curve: str, texts: int, kind: str, seed: int, measured: bool) -> float:
    """Speedup over plain rounds; texts join and leave."""
    rng = random.Random(seed)
    cut = [rng.randrange(ANSWER) for _ in range(texts)] + [0] * (texts * TOKENS // ANSWER)
    answers = [TEXTS[kind](rng, ANSWER)[first:] for first in cut]
    planner = Controller(of_one(curve) if measured else Costs())
    return written(curve, texts, answers, None, seed) / written(curve, texts, answers, planner, seed)


def mean(curve: str, texts: int, kind: str, measured: bool = True, seeds: int = 2) -> float:
    return float(np.mean([played(curve, texts, kind, seed, measured) for seed in range(1, 1 + seeds)]))


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
    assert mean(curve, texts, "0.90", seeds=4) >= least


def reads_first(prompt: int) -> float:
    """Speedup of a new pair's first batches of eight, where calibration had time for short drafts only."""
    speedups = []
    for seed in range(1, 7):
        planner, answers = Controller(of_one("flat", 8, 8)), [[0.8] * ANSWER for _ in range(24)]
        plain = written("flat", 8, answers, None, seed)
        speedups.append(plain / written("flat", 8, answers, planner, seed, prompt))
    return float(np.mean(speedups))


def test_a_drafter_that_reads_the_prompts_first_is_found_though_no_passes_of_two_rows_each_were_timed():
    assert reads_first(100) > 1.25
    assert reads_first(400) > 1.1


def test_without_an_estimate_for_those_passes_it_would_be_found_later(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Costs, "together", lambda self, texts: Costs())
    assert reads_first(100) < 1.25


def test_a_copy_for_one_text_is_not_expected_of_the_others_nor_learned_from_them():
    planner = Controller(of_one("flat")).of(8)
    planner.costs = of_one("flat")
    planner.begin(range(8))
    copy = CANDIDATES[16]
    own = replace(copy, texts=(3,))
    assert planner.choose([own], 100) == (NO_CANDIDATE, 0)
    planner.begin(range(8))
    assert planner.choose([copy], 100)[1] > 0
    rejected = Round((1,), 0, (1,), "lookup", 1.0)
    planner.count(dict.fromkeys(range(8), rejected), own, 100)
    known = planner.acceptance[copy.kind].by_text() @ np.arange(9)
    assert len({*known}) == 2 and known.argmin() == 3


def test_a_size_where_no_length_pays_is_left_plain_though_its_neighbours_are_not():
    best = {b: max(takes("M3 Max", b, 0) / takes("M3 Max", b, k) * sum(0.6**j for j in range(k + 1))
                   for k in range(1, 8)) for b in (1, 3, 8)}  # fmt: skip
    assert best[1] > 1.2 and best[8] > 1.2 > best[3], "the world is the one that was meant"
    assert mean("M3 Max", 8, "0.65") > 1.1


def test_costs_of_one_size_are_not_those_of_another():
    planner = Controller(Costs(RoundCost(1.0), {"model": {1: RoundCost(1.1)}}))
    assert planner.of(1) is planner and planner.of(4) is planner.of(4) is not planner.of(8)
    assert planner.of(4).acceptance is planner.acceptance


def together(curve: str, texts: int) -> float:
    """Speedup of six batches whose texts begin together; one in four accepts nothing, the others most."""
    planner, plain, auto = Controller(of_one(curve)), 0.0, 0.0
    for seed in range(6):
        answers = [[0.92 if i % 4 else 0.02] * 64 for i in range(texts)]
        plain += written(curve, texts, answers, None, seed)
        auto += written(curve, texts, answers, planner, seed)
    return plain / auto


@pytest.mark.parametrize(
    ("curve", "texts"), grid(CURVES, (4, 8, 16), usual=[("this CPU", 16), ("M3 Max", 4), ("flat", 8)])
)
def test_a_text_that_accepts_nothing_does_not_wait_for_the_others(curve: str, texts: int):
    assert together(curve, texts) >= 0.97


def test_by_the_mean_of_all_texts_it_would_wait(monkeypatch):
    monkeypatch.setattr(controller, "fixed_share", lambda *_: 0.0)
    assert together("flat", 8) < 0.95


def test_a_tree_has_its_rows_in_each_text_of_a_batch():
    passes = {k: RoundCost(1 + 0.1 * k) for k in range(1, 16)}
    trees = {k: RoundCost(passes[7].seconds + 0.05 * k) for k in range(1, 7)}
    costs = Costs(RoundCost(1.0), {"lookup": passes, "eagle, trees of 7": trees})
    assert costs.together(2).of("eagle, trees of 7", 3) == pytest.approx(passes[15].seconds + 0.15)
    far = costs.together(8).of("eagle, trees of 7", 3)
    assert far == pytest.approx(passes[15].seconds + 48 * 0.1 + 0.15), "48 rows more than were timed"
    assert costs.together(8).longest("lookup") == 1, "two rows of each text, as timed"
    assert costs.together(16).of("lookup", 1) == pytest.approx(passes[15].seconds + 16 * 0.1)


def test_the_time_of_reading_a_missed_token_is_that_of_single_texts_until_it_was_timed():
    planner = Controller(of_one("flat"))
    planner.reading["model"] = 0.5
    assert planner.of(4).reading == {"model": 0.5}
    planner.of(4).reading["model"] = 0.2
    assert planner.of(4).reading == {"model": 0.2} and planner.reading == {"model": 0.5}


def test_a_new_batch_may_lose_half_of_what_a_new_text_may():
    planner, lost = Controller(of_one("steep")), []
    for planned in (planner, planner.of(4)):
        planned.begin(range(planned.texts))
        lost.append(planned.budget.left)
    assert lost == [START, START / 2]


def test_all_batch_sizes_share_one_budget():
    planner, lost = Controller(Costs(RoundCost(1.0), {"model": {1: RoundCost(1.1)}})), 0.0
    for texts in (2, 4, 8, 16):
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
    monkeypatch.setattr(Budget, "left", 1e9)
    assert mean("M3 Max", 4, "0.50") < 0.97
