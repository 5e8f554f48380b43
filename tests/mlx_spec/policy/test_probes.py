"""Probes of what the controller does not choose: the first rounds of a new drafter, and of trees."""

import pytest

from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.policy.controller import PROBE_FIRST, SKIPPED, Controller
from mlx_spec.policy.costs import GUESSED, MEASURED, PLAIN, Costs, RoundCost
from mlx_spec.types import Round

CHAIN = Candidate("eagle", "eagle", 0.6, 7)
UNLIKELY = Candidate("eagle", "eagle", 0.45, 7)
"""Too seldom accepted for the cost that is assumed before one was timed."""
TREE = Candidate("eagle", "eagle, 15", 0.6, 5, nodes=15)


class Machine:
    """Plays one answer; a plain round takes a second, and each drafted token 0.2 more.

    Args:
        tree: seconds of a round with a tree.
        right: drafted tokens of three that are accepted.
        unsteady: how many drafted rounds build graphs, of all.
    """

    def __init__(self, planner: Controller, tree: float = 8.0, right: int = 2, unsteady: int = 0):
        self.planner, self.tree, self.right, self.unsteady = planner, tree, right, unsteady
        self.written = self.drafted = 0
        self.kinds: list[str] = []
        planner.begin([1])

    def play(self, candidates: list[Candidate], rounds: int) -> None:
        for _ in range(rounds):
            candidate, k = self.planner.choose(candidates, self.written)
            self.drafted += k > 0
            n = next((i for i in range(k) if (self.drafted + i) % 3 >= self.right), k)
            seconds = (self.tree if candidate.nodes else 1 + 0.2 * k) if k else 1.0
            steady = not k or self.drafted > self.unsteady
            kind = candidate if k else NO_CANDIDATE
            name = kind.drafter if k else PLAIN
            read = Round((0,) * k, n, (0,) * (n + 1), name, seconds, steady=steady,
                         tree_depth=k if kind.nodes else None)  # fmt: skip
            self.planner.count({1: read}, kind, self.written)
            self.written += n + 1
            self.kinds.append(kind.costs_as)


def calibrated(tree: RoundCost) -> Controller:
    chains = {k: RoundCost(1 + 0.2 * k, seen=MEASURED) for k in (1, 2, 3, 7)}
    trees = {k: RoundCost(tree.seconds, seen=tree.seen) for k in range(1, 6)}
    return Controller(Costs(RoundCost(1.0, seen=8), {"eagle": chains, TREE.costs_as: trees}))


def test_the_first_probe_of_a_new_drafter_learns_what_it_costs():
    """Its first rounds build graphs, and the first steady one only shows that there is such a round."""
    machine = Machine(Controller(), right=1, unsteady=4)
    machine.play([UNLIKELY], PROBE_FIRST + SKIPPED + 8)
    assert machine.planner.costs.timed("eagle") == 1
    assert machine.planner.costs.of("eagle", 1) == pytest.approx(1.2, rel=0.1)
    before = machine.drafted
    machine.play([UNLIKELY], 20)
    assert machine.drafted > before + 10, "it pays, and is used"


def test_a_probe_that_ends_with_a_rounds_first_timing_learns_nothing(monkeypatch: pytest.MonkeyPatch):
    learn = Costs.learn

    def settled(costs, *reading):
        surprise = learn(costs, *reading)
        return "none" if surprise == "new" else surprise

    monkeypatch.setattr(Costs, "learn", settled)
    machine = Machine(Controller(), right=1, unsteady=4)
    machine.play([UNLIKELY], PROBE_FIRST + SKIPPED + 8)
    assert machine.planner.costs.timed("eagle") == 0


def test_without_a_calibration_no_tree_is_drafted():
    machine = Machine(Controller())
    machine.play([CHAIN, TREE], 600)
    assert "eagle" in machine.kinds
    assert TREE.costs_as not in machine.kinds
    known = Machine(calibrated(RoundCost(1.2, seen=MEASURED)), tree=1.2)
    known.play([CHAIN, TREE], 20)
    assert TREE.costs_as in known.kinds


@pytest.mark.parametrize("seen", [GUESSED, MEASURED])
def test_trees_whose_probe_the_budget_does_not_cover_are_not_probed(seen: int):
    """A probe may take two rounds: one that spends the budget ends drafting for the rest of the answer."""
    for seconds, probed in ((8.0, False), (2.6, True)):
        machine = Machine(calibrated(RoundCost(seconds, seen=seen)), tree=seconds)
        machine.play([TREE], 100)
        assert (TREE.costs_as in machine.kinds) == probed


def test_a_draft_that_is_expected_to_pay_is_made_though_its_cost_is_in_doubt():
    planner = Controller(Costs(RoundCost(1.0, seen=8), {"eagle": {1: RoundCost(1.35)}}))
    planner.begin([1])
    pace = 1.35 / (1 + UNLIKELY.prior)
    assert pace < 1 < pace * (1 + planner.costs.doubt("eagle", 1))
    assert planner.choose([UNLIKELY], 0) == (UNLIKELY, 1)
