"""The adaptive draft length in simulated time: costs, texts and noise are given."""

from dataclasses import replace
from statistics import mean

import pytest
from pydantic import TypeAdapter

from benchmarks.policy_worlds import SHORT, Answer, Player, World
from mlx_spec.candidate import NO_CANDIDATE
from mlx_spec.drafters.lookup import CANDIDATES
from mlx_spec.drafters.model import CANDIDATE as MODEL
from mlx_spec.policy import budget, controller
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.costs import GUESSED, MEASURED, Costs, RoundCost
from mlx_spec.policy.learned import Learned
from mlx_spec.types import Round
from tests.mlx_spec.tiny_models import engine_of, one_layer, prompt, text

LEARNED = TypeAdapter(Learned)
"""As it is saved and read."""
SURE, CHANCE = CANDIDATES[16], CANDIDATES[3]
SLOW = World("this CPU", 0.2, "0.90")
"""A step takes 0.2 plain rounds and is believed to take a whole one."""


def believed_slow(restored: bool) -> Controller:
    slow = replace(SLOW, step=1.0)
    believed = {k: RoundCost(slow.takes(k)) for k in range(1, 16)}
    planner = Controller(Costs(RoundCost(1.0), {"model": believed}))
    if restored:
        kept, planner = planner.learned, Controller()
        planner.restore(kept)
    return planner


def play(planner: Controller, world: World, answers: int) -> float:
    """Speedup over plain decoding in the last of several answers."""
    player, given = Player(planner, world), list(world.answers(answers))
    times = [player.play(answer) for answer in given]
    return given[-1].fixed(0) / times[-1]


@pytest.mark.parametrize("restored", [False, True], ids=["learned", "from disk"])
def test_costs_believed_too_high_are_corrected_within_2000_tokens(restored: bool):
    gains = []
    for seed in range(8):
        planner = believed_slow(restored)
        gains.append(play(planner, replace(SLOW, seed=seed), 5))
        assert planner.costs.of("model", 1) < 1.1 * SLOW.takes(1)
    assert mean(gains) > 1.2


@pytest.mark.parametrize(("constant", "value"), [("PROBE_FIRST", 10**9), ("PROBE_ROUNDS", 1)])
def test_without_probes_or_with_probes_of_one_round_they_are_never_corrected(
    constant: str, value: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(controller, constant, value)
    assert play(believed_slow(False), SLOW, 5) < 1.05


def test_answers_without_drafters_bring_no_probe_nearer():
    for offered in (True, False):
        planner = believed_slow(False)
        planner.begin([1])
        chosen = []
        for at in range(controller.PROBE_FIRST + 8):
            chosen.append(planner.choose([MODEL] if offered or at > controller.PROBE_FIRST else [], at)[1])
            planner.count({1: rounds_of(0, 0, "none", 1.0)}, NO_CANDIDATE, at)
        assert any(chosen) == offered


def test_answers_of_24_tokens_correct_costs_too():
    planner = believed_slow(False)
    play(planner, replace(SLOW, tokens=SHORT), 100)
    assert planner.costs.of("model", 1) < 1.15 * SLOW.takes(1)


def test_a_drafter_that_became_good_is_found_again():
    bad, good = World("this CPU", 0.1, "0.02"), World("this CPU", 0.1, "0.97")
    planner = Controller(bad.costs())
    play(planner, bad, 4)
    assert play(planner, good, 8) > 2


def test_one_answer_loses_no_more_than_its_allowance():
    """Whatever earlier answers gained: good ones first, then one whose drafts are all rejected."""
    good, bad = World("this CPU", 0.1, "0.97"), World("this CPU", 0.1, "0.02", tokens=SHORT)
    planner = Controller(good.costs())
    play(planner, good, 6)
    rejected = Answer(bad, [False] * SHORT, [1.0] * SHORT)
    lost = Player(planner, good).play(rejected) - rejected.fixed(0)
    assert 0 < lost < budget.START + good.takes(15) - 1


def linear(step: float, *names: str) -> Costs:
    """Each drafted token adds `step` to a plain round of 1."""
    return Costs(RoundCost(1.0), {name: {k: RoundCost(1 + step * k) for k in range(1, 32)} for name in names})


def rounds_of(k: int, accepted: int, drafter: str, seconds: float) -> Round:
    return Round(tuple(range(k)), accepted, tuple(range(accepted + 1)), drafter, seconds, steady=True)


def test_plain_rounds_are_probed_while_one_token_is_drafted():
    """They were believed too slow: two readings of a probe correct that."""
    planner = Controller(Costs(RoundCost(1.5), {"model": {1: RoundCost(1.2)}}))
    candidate, kinds = replace(MODEL, limit=1), []
    planner.begin([1])
    for _ in range(40):
        _, k = planner.choose([candidate], 0)
        kinds.append(k)
        read = rounds_of(k, 0, "model", 1.2) if k else rounds_of(0, 0, "none", 1.0)
        planner.count({1: read}, candidate if k else NO_CANDIDATE, 0)
        planner.shadow(1, candidate, [True])
    assert 0 in kinds[2:] and planner.costs.of("none", 0) < 1.3


def test_the_drafter_with_the_higher_acceptance_drafts():
    planner = Controller(linear(0.1, "lookup", "model"))
    planner.begin([1])
    for _ in range(6):
        planner.shadow(1, MODEL, [False] * 3)
        planner.shadow(1, SURE, [True] * 3)
    assert planner.choose([SURE, MODEL], 0)[0] == SURE
    for _ in range(6):
        planner.shadow(1, MODEL, [True] * 3)
        planner.shadow(1, CHANCE, [False] * 3)
    assert planner.choose([MODEL, CHANCE], 0)[0] == MODEL


CHAIN = replace(MODEL, limit=6)
TREES = replace(CHAIN, nodes=7)
"""Drafts of the same tokens, whose rounds take 0.95 of the chain's by their costs."""


def beside_trees(seen: int) -> Controller:
    costs = linear(0.1, "model")
    trees = {k: RoundCost(0.95 * cost.seconds, seen=seen) for k, cost in costs.rounds["model"].items()}
    planner = Controller(replace(costs, rounds={**costs.rounds, TREES.costs_as: trees}))
    planner.begin([1])
    return planner


def test_a_cost_that_was_only_computed_does_not_displace_one_that_was_timed():
    assert beside_trees(MEASURED).choose([CHAIN, TREES], 0)[0] == TREES
    planner, chosen = beside_trees(GUESSED), []
    for _ in range(120):
        candidate, k = planner.choose([CHAIN, TREES], 0)
        chosen.append(candidate)
        seconds = 0.9 + 0.09 * k if candidate is TREES else 1 + 0.1 * k
        planner.count({1: rounds_of(k, k, candidate.costs_as, seconds)}, candidate, 0)
    assert chosen[0] == CHAIN and chosen[-1] == TREES, "a probe times it"


def test_candidates_compared_without_their_doubt_are_caught(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Costs, "doubt", lambda *_: 0.0)
    assert beside_trees(GUESSED).choose([CHAIN, TREES], 0)[0] == TREES


def test_a_longer_match_gives_a_longer_draft():
    costs = linear(0.08, "lookup")
    lengths = [Controller(costs).choose([candidate], 0)[1] for candidate in reversed(CANDIDATES.values())]
    assert lengths == sorted(lengths) and lengths[0] <= 5 and lengths[-1] >= 8
    planner = Controller(costs)
    planner.begin([1])
    for _ in range(12):
        planner.count({1: rounds_of(31, 31, "lookup", 3.5)}, SURE, 0)
    assert planner.choose([SURE], 0) == (SURE, 31)


def test_what_is_not_chosen_is_probed_ever_more_rarely():
    planner, seen = Controller(World("this CPU", 0.1, "0.97", noise=0.0).costs()), []
    takes = World("this CPU", 0.1, "0.97").takes
    planner.begin([1])
    for number in range(6000):
        candidate, k = planner.choose([MODEL], 0)
        seen += [number] if not k else []
        planner.count({1: rounds_of(k, k, candidate.drafter, takes(k))}, candidate, 0)
    gaps = [b - a for a, b in zip(seen, seen[1:], strict=False) if b - a > 4]
    assert gaps == sorted(gaps) and 3 < len(gaps) < 12


def test_what_was_learned_survives_as_plain_values():
    world = World("M4 Pro", 0.1, "0.65", growth=1.0)
    planner = Controller(world.costs())
    play(planner, world, 3)
    planner.begin([1])
    planner.of(8).costs.learn("none", 0, 5.0, 0)
    again = Controller()
    again.restore(LEARNED.validate_json(LEARNED.dump_json(planner.learned)))
    assert again.learned == planner.learned
    assert again.learned.together[8] == again.of(8).costs.learned != again.learned.costs


NO_COSTS = {"plain": None, "rounds": {}}
EMPTY = {
    "costs": NO_COSTS, "acceptance": {}, "reading": {}, "budgets": [1.0, 1.0], "together": {}, "lengths": [],
}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"costs": {"plain": [0.0, 0.0, 1], "rounds": {}}},
        {"costs": {"plain": [1.0, 0.0], "rounds": {}}},
        {"costs": {"plain": [float("nan"), 0.0, 1], "rounds": {}}},
        {"costs": {"plain": None, "rounds": []}},
        {"costs": {"plain": [1.0, 0.0, -1], "rounds": {}}},
        {"costs": {"plain": [1.0, 0.0, 1], "rounds": {"model": {"0": [1.0, 0.0, 1]}}}},
        {"acceptance": {"model": {"usual": [0.5, 0.6], "now": [0.5, 0.5]}}},
        {"reading": {"model": "slow"}},
        {"reading": {"model": float("nan")}},
        {"reading": {"model": -1.0}},
        {"budgets": [1.0, float("nan")]},
        {"budgets": [None, 1.0]},
        {"budgets": [1.0]},
        {"together": {"8": {"plain": [0.0, 0.0, 1], "rounds": {}}}},
        {"together": {"many": NO_COSTS}},
        {"lengths": ["long"]},
        {"lengths": None},
    ],
)
def test_values_that_make_no_sense_change_nothing(change: dict[str, object]):
    planner = Controller(Costs(RoundCost(1.0)))
    planner.restore(LEARNED.validate_python(EMPTY | {"costs": {"plain": [1.0, 0.0, 1], "rounds": {}}}))
    before = planner.learned
    with pytest.raises(ValueError):
        planner.restore(LEARNED.validate_python(EMPTY | change))
    assert planner.learned == before


def test_reading_a_long_prompt_has_to_pay_too():
    planner, far = Controller(linear(0.1, "model")), replace(MODEL, behind=16_000)
    assert planner.choose([MODEL], 0)[1] > 0
    assert planner.choose([far], 0) == (NO_CANDIDATE, 0)
    planner.count({1: Round((1, 2), 2, (1, 2, 3), "model", 1.2 + 160.0)}, far, 0)
    assert planner.reading["model"] == pytest.approx(0.01)


def test_one_slow_reading_of_a_prompt_is_not_believed_two_are():
    planner, far = Controller(linear(0.1, "model")), replace(MODEL, behind=100)
    believed = []
    for seconds in (90.0, 1.0, 90.0, 2.0, 60.0, 50.0):
        planner.count({1: Round((1, 2), 2, (1, 2, 3), "model", 1.2 + seconds)}, far, 0)
        believed.append(100 * planner.reading["model"])
    assert believed == pytest.approx([90, 1, 1, 2, 2, 50])
    restored = Controller(linear(0.1, "model"))
    restored.restore(planner.learned)
    restored.count({1: Round((1, 2), 2, (1, 2, 3), "model", 1.2 + 90.0)}, far, 0)
    assert restored.reading["model"] == planner.reading["model"]


def test_rounds_are_plain_without_costs_or_without_candidates():
    assert Controller().choose([MODEL], 0) == (NO_CANDIDATE, 0)
    assert Controller(linear(0.1)).choose([], 0) == (NO_CANDIDATE, 0)


def test_a_probe_in_the_engine_corrects_a_cost_believed_far_too_high():
    """A draft is believed to take seconds: the target drafts for itself, in milliseconds."""
    engine = engine_of(one_layer(1), one_layer(1), context_limit=512)
    slow = {k: RoundCost(5.0) for k in range(1, 4)}
    engine.controller = Controller(Costs(RoundCost(0.005), {"model": slow}))
    assert text(engine, prompt(9, 1), max_tokens=200)
    assert engine.controller.costs.of("model", 1) < 0.5


def test_a_prior_that_weighs_more_begins_with_shorter_drafts():
    """The better known a drafter's acceptance is, the less a long draft may hope for."""
    costs = {k: RoundCost(1 + 0.12 * k) for k in range(1, 16)}
    first = {}
    for weight in (MODEL.weight, 5.0):
        planner = Controller(Costs(RoundCost(1.0), {"model": costs}))
        planner.begin([1])
        first[weight] = planner.choose([replace(MODEL, prior=0.6, weight=weight)], 64)[1]
    assert 0 < first[5.0] < first[MODEL.weight]
