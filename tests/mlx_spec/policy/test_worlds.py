"""Auto against plain decoding in simulated worlds: never slower, and drafts that pay are found."""

from collections.abc import Callable
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from benchmarks.policy_worlds import CURVES, LONG, SHORT, STEPS, TEXTS, Player, World
from mlx_spec.candidate import NO_CANDIDATE
from mlx_spec.policy import controller, remaining, value
from mlx_spec.policy.budget import Budget
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.costs import Costs
from mlx_spec.policy.value import Value

HOSTILE = [
    World("stranger", 0.3, "0.50"),
    World("M1, M2", 0.1, "0.97", wrong=1 / 3),
    World("this CPU", 0.3, "0.02", tokens=SHORT),
    World("M4 Pro", 0.1, "mixed", tokens=SHORT, compiled=True),
    World("this CPU", 0.1, "switching", noise=0.15),
    World("M5 Max", 0.6, "0.50", wrong=0.0),
    World("M1, M2", 0.3, "0.15", slow=0.3),
    World("M1, M2", 0.1, "0.02", slow=0.3),
    World("this CPU", 0.1, "0.65", tokens=40, reading=30.0),
    World("stranger", 0.1, "0.15", tokens=SHORT, wrong=1 / 3),
    World("M4 Pro", 0.1, "0.65", tokens=128, reading=30.0),
]
GENEROUS = [
    (World("this CPU", 0.1, "0.90"), 1.6),
    (World("M4 Pro", 0.1, "0.80", wrong=0.0), 1.5),
    (World("M5 Max", 0.02, "0.97", tokens=SHORT), 1.7),
    (World("stranger", 0.1, "0.90", slow=0.3), 1.5),
    (World("M4 Pro", 0.02, "switching"), 1.25),
    (World("stranger", 0.3, "0.97", tokens=SHORT), 1.42),
    (World("M4 Pro", 0.02, "0.80", tokens=128, reading=15.0), 1.45),
    (World("this CPU", 0.3, "switching"), 1.01),
]
"""Worlds, and what auto has to gain over plain decoding in the mean of `SEEDS`."""
SEEDS = range(1, 9)


def gain(world: World, tokens: int = 2048) -> float:
    """Speedup over plain decoding."""
    player, answers = Player(Controller(world.costs()), world), list(world.answers(tokens // world.tokens))
    return sum(each.fixed(0) for each in answers) / sum(map(player.play, answers))


def mean_gain(world: World) -> float:
    return float(np.mean([gain(replace(world, seed=seed), 1024) for seed in SEEDS]))


@pytest.mark.parametrize("world", HOSTILE, ids=str)
def test_it_is_never_slower_than_plain_decoding(world: World):
    assert gain(world) >= 0.97


@pytest.mark.parametrize(("world", "least"), GENEROUS, ids=str)
def test_drafts_that_pay_are_found(world: World, least: float):
    assert mean_gain(world) >= least


@pytest.mark.slow
@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("tokens", [SHORT, LONG])
@pytest.mark.parametrize("wrong", [1.0, 3.0, 1 / 3, 0.0], ids=["measured", "too high", "too low", "skipped"])
def test_it_is_never_slower_on_any_machine(curve: str, tokens: int, wrong: float):
    for step in STEPS:
        for kind in TEXTS:
            world = World(curve, step, kind, tokens, wrong)
            assert gain(world, 1536) >= 0.96, world


def without_budget(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Budget, "left", 1e9)


def ignores_costs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Costs, "curve", lambda self, drafter, limit, length=0: np.full(limit + 1, 1.0))
    without_budget(patch)


@pytest.mark.parametrize("mutant", [without_budget, ignores_costs])
def test_without_costs_or_budget_it_would_be_slower(mutant: Callable, monkeypatch: pytest.MonkeyPatch):
    mutant(monkeypatch)
    assert any(gain(world) < 0.97 for world in reversed(HOSTILE))


def test_without_shadow_drafts_it_would_gain_less(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Controller, "_plain_round", lambda self, values, left: (NO_CANDIDATE, 0))
    world, least = GENEROUS[-1]
    assert mean_gain(world) < least


def test_long_prompts_would_be_read_too_late_if_all_answers_were_expected_to_grow(monkeypatch):
    monkeypatch.setattr(remaining, "ANSWERS", 0)
    slower, gains = HOSTILE[-1], GENEROUS[-2]
    assert gain(slower) < 0.97 and mean_gain(gains[0]) < gains[1]


def test_a_reading_time_believed_far_too_high_is_corrected_though_it_pays_for_no_answer():
    world = World("M4 Pro", 0.1, "0.65", tokens=96)

    def believed(after: int) -> float:
        """The time to read a token in draft steps, after so many tokens."""
        planner = Controller(world.costs())
        planner.reading["model"] = 5 * world.step
        player = Player(planner, world)
        for answer in world.answers(after // world.tokens):
            player.play(answer)
        return planner.reading["model"] / world.step

    assert believed(2000) == 5 and believed(8000) < 1


def late_gain() -> float:
    """Gain with answers whose drafts are accepted only after a few tokens."""
    worlds = [World("this CPU", 0.3, "late", tokens=96, seed=seed) for seed in range(1, 13)]
    return float(np.mean([gain(world, 1024) for world in worlds]))


def test_rejected_drafts_leave_enough_to_try_again(monkeypatch: pytest.MonkeyPatch):
    least = 1.1
    assert late_gain() >= least
    monkeypatch.setattr(value, "STAKE", 1.0)
    assert late_gain() < least, "all that is left at once"


def evaluations(patch: pytest.MonkeyPatch) -> float:
    """Rounds in 100 in which the one candidate is evaluated, where next to nothing is accepted."""
    world, best = World("stranger", 0.3, "0.02", tokens=96), Mock(side_effect=Value.best)
    patch.setattr(Value, "best", lambda *given: best(*given))
    gain(world)
    return 100 * best.call_count / 2048


def test_candidates_are_seldom_evaluated_while_the_budget_covers_no_draft(monkeypatch: pytest.MonkeyPatch):
    seldom = 8
    assert 1 < evaluations(monkeypatch) < seldom
    monkeypatch.setattr(controller, "RESTED", controller.SKIPPED)
    assert evaluations(monkeypatch) > seldom
