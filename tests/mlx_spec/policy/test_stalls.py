"""Drafting goes on after a round that took far longer than it should."""

from dataclasses import replace

import pytest

from benchmarks.policy_worlds import Player, World
from mlx_spec.drafters.lookup import CANDIDATES
from mlx_spec.drafters.model import CANDIDATE as MODEL
from mlx_spec.policy import controller, value
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.costs import Costs, RoundCost
from mlx_spec.types import Round

SURE = CANDIDATES[16]


class Stalled(Controller):
    """The program is stopped in one round with a draft, of its fourth answer: with Ctrl+Z, for example."""

    def __init__(self, costs: Costs, catching_up: bool):
        super().__init__(costs)
        self.answers, self.stalls, self.catching_up = 0, 0, catching_up

    def begin(self, texts):
        self.answers += 1
        super().begin(texts)

    def count(self, read, candidate, length):
        ((text, one),) = read.items()
        hit = candidate.behind > 0 if self.catching_up else one.steady
        if self.answers > 3 and not self.stalls and one.drafted and hit:
            self.stalls += 1
            read = {text: replace(one, seconds=one.seconds + 10_000)}
        super().count(read, candidate, length)


@pytest.mark.parametrize("catching_up", [False, True])
def test_a_draft_that_was_interrupted_for_long_does_not_end_drafting_for_good(catching_up: bool):
    world = World("M4 Pro", 0.02, "0.90", tokens=256)
    planner = Stalled(world.costs(), catching_up)
    player, given = Player(planner, world), list(world.answers(14))
    times = [player.play(answer) for answer in given]
    assert given[-1].fixed(0) / times[-1] > 2
    assert planner.stalls == 1


def drafters_after(rejected: list[float]) -> list[str]:
    """Drafters of 200 rounds after rejected drafts of these times; every copy would be right."""
    known = {name: {k: RoundCost(1 + 0.2 * k) for k in range(1, 32)} for name in ("lookup", "model")}
    planner, drafters = Controller(Costs(RoundCost(1.0), known)), list[str]()
    planner.begin([1])
    for seconds in rejected:
        planner.count({1: Round((7, 7, 7), 0, (0,), "model", seconds, steady=True)}, MODEL, 0)
    for at in range(200):
        candidate, k = planner.choose([SURE, MODEL], at)
        read = Round((7,) * k, k, (7,) * (k + 1), candidate.drafter, 1 + 0.2 * k, steady=True)
        planner.count({1: read}, candidate, at)
        if not k:
            planner.shadow(1, SURE, [True])
        drafters.append(candidate.drafter if k else "none")
    return drafters


def test_a_text_that_repeats_itself_is_drafted_in_debt_and_nothing_less_sure(monkeypatch: pytest.MonkeyPatch):
    debt = [3.0] * 10
    drafters = drafters_after(debt)
    first = drafters.index("lookup")
    assert 0 < first <= controller.RESTED and "model" not in drafters[:first]
    assert drafters[first:].count("lookup") > 100
    monkeypatch.setattr(value, "SHARE", 0.0)
    assert set(drafters_after(debt)) == {"none"}, "what it lost is earned at one round in a hundred"


def test_a_round_that_took_far_longer_than_any_of_its_kind_is_no_debt_of_the_drafts(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(value, "SHARE", 0.0)
    assert "lookup" in drafters_after([1000.0])
    monkeypatch.setattr(controller, "STALLED", 10**9)
    assert "lookup" not in drafters_after([1000.0])
