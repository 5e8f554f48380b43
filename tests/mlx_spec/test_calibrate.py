"""Calibration can be stopped at any time, and leaves the engine's answers as they were."""

import time
from collections import Counter
from statistics import median_low
from types import SimpleNamespace

import pytest

from mlx_spec import Engine, Options
from mlx_spec import calibrate as measuring
from mlx_spec.arrays import Draft, Length
from mlx_spec.calibrate import FIRST, Calibration, Kind
from mlx_spec.drafters import Context
from mlx_spec.drafters.assistant import AssistantDrafter
from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.drafters.guess import Guess
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.medusa import MedusaDrafter
from mlx_spec.drafters.model import CANDIDATE
from mlx_spec.policy.controller import Controller
from mlx_spec.target.model import Model
from mlx_spec.verify.batch import BatchVerifier, Proposer
from tests.mlx_spec import assistant_heads, medusa_heads
from tests.mlx_spec.architectures import nearly, tiny_gemma4
from tests.mlx_spec.heads import head_for, target
from tests.mlx_spec.tiny_models import draft_model, engine_of, one_layer, prompt, text, tiny_llama
from tests.mlx_spec.uneven_machine import UnevenMachine


def an_engine(context_limit: int = 2048) -> Engine:
    return engine_of(one_layer(0), one_layer(1), context_limit=context_limit)


@pytest.mark.parametrize("make", [tiny_llama, pytest.param(tiny_gemma4, marks=pytest.mark.slow)])
def test_the_answer_after_measuring_is_the_plain_one(make, monkeypatch):
    monkeypatch.setattr(measuring, "FIRST", (1, 3, 8))
    monkeypatch.setattr(measuring, "TRIES", 1)
    engine, fresh = (engine_of(make(0), nearly(make), context_limit=512) for _ in range(2))
    ids = [*[1] * 6, *prompt(9, 1)]  # begins as the text that the models took as read
    wanted = text(fresh, ids, max_tokens=20, drafter="none")
    calibration = Calibration(engine)
    for done, _ in calibration.run(60.0):
        if done > 7:
            break
    costs = calibration.finish()
    assert costs.plain and set(costs.rounds) == {"lookup", "model"}
    assert engine.controller.costs == costs
    assert text(engine, ids, max_tokens=20) == wanted
    engine.drafts_in_flight = False
    assert text(engine, ids, max_tokens=20) == wanted


def test_kernels_and_another_program_that_delay_a_draft_models_reading_are_not_in_its_time(monkeypatch):
    engine = an_engine()
    draft = draft_model(engine)
    prefill, waits = draft.prefill, [0.5, 0.5]

    def building(*arguments, **named):
        time.sleep(waits.pop() if waits else 0.0)
        return prefill(*arguments, **named)

    monkeypatch.setattr(draft, "prefill", building)
    calibration = Calibration(engine)
    for _ in calibration.run(60.0):
        if calibration.reading:
            break
    calibration.finish()
    assert not waits and 0 < engine.controller.reading["model"] * calibration.near < 0.25


def test_kernels_built_meanwhile_take_no_time_from_the_measuring(monkeypatch):
    engine, decode, built, now = an_engine(), Model.decode, set(), 0.0

    def clock():
        nonlocal now
        now += 1e-5
        return now

    def building(model, p):
        nonlocal now
        now += 0.001 if (width := p.ids.shape[1]) in built else 0.2
        built.add(width)
        return decode(model, p)

    monkeypatch.setattr(Model, "decode", building)
    monkeypatch.setattr(time, "perf_counter", clock)
    monkeypatch.setattr(measuring, "FIRST", (3, 1, 2))
    monkeypatch.setattr(measuring, "REST", ())
    calibration = Calibration(engine)
    for _ in calibration.run(0.15):
        continue
    assert {1, 2, 3} <= calibration.finish().rounds["lookup"].keys()


def test_a_draft_model_has_costs_on_a_machine_too_slow_to_time_its_longer_drafts(monkeypatch):
    monkeypatch.setattr(measuring, "FIRST", (1, 3))
    monkeypatch.setattr(measuring, "DRAFTED", (15,))
    calibration = Calibration(an_engine())
    for done, _ in calibration.run(60.0):
        if done > 3:
            break
    timed = {kind.k for kind, times in calibration.times.items() if kind.drafter == "model" and times}
    assert timed == {1, measuring.LONG} and "model" in calibration.finish().rounds


def test_an_assistant_s_steps_are_timed_though_it_keeps_no_rows(monkeypatch):
    monkeypatch.setattr(measuring, "FIRST", (1,))
    model = assistant_heads.target()
    drafters = [LookupDrafter(), AssistantDrafter(assistant_heads.head_for(model))]
    calibration = Calibration(Engine(model, drafters, context_limit=512))
    assert calibration.timed_drafters == ["assistant"]
    assert {kind.drafter for kind in calibration.kinds()} == {"none", Guess.name, "assistant"}
    timed = calibration.times.items()
    assert any(
        any(times for kind, times in timed if kind.drafter == "assistant") for _ in calibration.run(60.0)
    )


def test_measuring_stops_when_its_time_is_over_or_when_it_is_left():
    engine = an_engine()
    assert Calibration(engine).costs().plain is None
    calibration = Calibration(engine)
    assert list(calibration.run(0.0)) == [] and not calibration.times
    for step in calibration.run(60.0):
        assert step == (1, 1 + len({*calibration.kinds(), Kind("model", measuring.LONG, calibration.near)}))
        break
    assert calibration.finish().plain is not None and engine.controller.costs.rounds == {}


def test_a_sweep_times_each_kind_of_round_once():
    kinds = Calibration(an_engine(8192)).kinds()
    assert len(kinds) == len({*kinds}) and sum(kind.drafter == "none" for kind in kinds) == 1


def test_the_progress_of_measuring_goes_from_one_kind_of_round_to_all(monkeypatch):
    for name, lengths in (("FIRST", (1, 3)), ("REST", ()), ("DRAFTED", (1,))):
        monkeypatch.setattr(measuring, name, lengths)
    monkeypatch.setattr(measuring, "GOES", 2)
    steps = list(Calibration(an_engine()).run(60.0))
    totals = {total for _, total in steps}
    assert len(totals) == 1 and {done for done, _ in steps} == {1, *range(3, max(totals) + 1)}


def test_what_was_timed_becomes_costs_at_both_contexts():
    """Times are given: 1 and 0.1 a row, twice that far away; a drafted token is 0.05."""
    engine = an_engine(8192)
    calibration = Calibration(engine)
    calibration.plain = [1.0]
    for kind in calibration.kinds():
        seconds = 1 + 0.1 * kind.k + (0.05 * kind.k if kind.drafter == "model" else 0.0)
        calibration.times[kind] = [seconds * (2 if kind.context == calibration.far else 1)]
    assert list(calibration.verifying(calibration.near))[:16] == list(range(1, 17)), "v(m) for m = 1 to 16"
    assert list(calibration.verifying(calibration.far))[:16] == list(range(1, 17))
    assert calibration.draft_step("model", calibration.near) == pytest.approx(0.05)
    assert calibration.draft_step("model", calibration.far) == pytest.approx(0.1)
    costs = calibration.costs()
    assert costs.longest("model") == CANDIDATE.limit and costs.longest("lookup") == max(FIRST)
    for k in range(1, CANDIDATE.limit + 1):
        assert costs.of("model", k, calibration.near) == pytest.approx(1 + 0.15 * k)
        assert costs.of("model", k, calibration.far) == pytest.approx(2 + 0.3 * k)
    assert costs.of("lookup", 20, calibration.far) == pytest.approx(6)
    calibration.times[Kind(Guess.name, 1, calibration.near)] = [99.0]
    assert calibration.verifying(calibration.near)[2] < 2, "a disturbance, since longer ones cost less"


@pytest.mark.parametrize("seam", ["observe", "draft"])
def test_measuring_that_is_interrupted_in_plain_rounds_or_drafts_leaves_no_rows(seam, monkeypatch):
    """Its text is made of token 1: a prompt of the same tokens must still be read."""

    def interrupted(*_):
        raise KeyboardInterrupt

    engine, ids = an_engine(), [1] * 20
    wanted = text(an_engine(), ids, max_tokens=20)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(engine.drafters[-1], seam, interrupted)
        list(Calibration(engine).run(60.0))
    assert text(engine, ids, max_tokens=20) == wanted


def test_no_head_has_the_made_up_text_read():
    engine = Engine(target(), [EagleDrafter(head_for(target(), 3))], context_limit=512)
    engine.pretend_cached([1] * 300)
    rows = engine.rows()
    made_up = rows.add([1] * 300, Options(drafter="eagle"))
    rows.step()
    assert made_up.cached_tokens == 299


@pytest.mark.parametrize("plain", [0.1, 0.02])
def test_a_machine_that_changes_its_speed_does_not_make_a_head_seem_dear(plain, monkeypatch):
    """Divided by a plain round of a second before, its rounds seemed 1.2 to 1.6 times as long in four of ten
    runs: for answers it drafted nothing."""
    wrong, runs = 0, 60
    for seed in range(runs):
        machine = UnevenMachine(plain, seed)
        monkeypatch.setattr(measuring, "time", SimpleNamespace(perf_counter=lambda at=machine: at.now))
        calibration = Calibration(machine)  # type: ignore[arg-type]
        list(calibration.run())
        costs, near = calibration.costs(), calibration.near
        for k in (1, min(measuring.LONG, costs.longest("eagle"))):
            believed = costs.of("eagle", k, near) / costs.of("eagle", 0, near)
            wrong += abs(believed / machine.cost(k, "eagle") - 1) > 0.15
    assert wrong <= 0.1 * 2 * runs


@pytest.mark.parametrize("limit", [2, 3, 10])
def test_a_context_of_a_few_tokens_is_measured_as_far_as_it_goes(limit):
    engine = an_engine(limit)
    list(Calibration(engine).run(0.2))


def test_chains_and_trees_of_a_head_have_the_prior_of_heads():
    found = EagleDrafter(head_for(target(), 3)).candidates(Length.exact(9))
    assert found and {(c.prior, c.weight) for c in found} == {(0.6, 5.0)}


def test_rounds_with_trees_cost_what_was_timed_of_them(monkeypatch):
    monkeypatch.setattr(measuring, "FIRST", (1,))
    monkeypatch.setattr(measuring, "DEPTHS", (2, 3))
    monkeypatch.setattr(measuring, "TRIES", 1)
    engine = Engine(target(), [EagleDrafter(head_for(target(), 3))], context_limit=512)
    grown, draft = set[tuple[int, int]](), EagleDrafter.draft

    def spied(drafter: EagleDrafter, context: Context, depth: int, verifier: Proposer) -> Draft:
        drafted = draft(drafter, context, depth, verifier)
        if drafted.tree_depth:
            grown.add((context.nodes, drafted.tree_depth))
        return drafted

    monkeypatch.setattr(EagleDrafter, "draft", spied)
    calibration = Calibration(engine)
    trees = [kind for kind in calibration.kinds() if "tree" in kind.drafter]
    assert any(all(map(calibration.times.get, trees)) for _ in calibration.run(60.0))
    assert grown == {(7, 2), (7, 3), (15, 2), (15, 3)}
    costs, plain = calibration.finish(), median_low(calibration.plain)
    for kind in trees:
        timed = median_low(calibration.times[kind]) * plain
        assert costs.of(kind.drafter, kind.k, kind.context) == pytest.approx(timed)
    assert isinstance(engine.controller, Controller) and engine.controller.costs is costs


def test_a_tree_that_cannot_be_as_deep_as_it_was_to_be_timed_is_given_up_at_once(monkeypatch):
    model, deep = medusa_heads.target(), medusa_heads.HEADS + 1
    monkeypatch.setattr(measuring, "FIRST", (1,))
    monkeypatch.setattr(measuring, "DEPTHS", (2, deep))
    engine = Engine(model, [MedusaDrafter(medusa_heads.head_for(model))], context_limit=512)
    drafted, draft = Counter[bool](), MedusaDrafter.draft

    def counted(drafter: MedusaDrafter, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        drafted[depth == 2] += 1
        return draft(drafter, context, depth, verifier)

    monkeypatch.setattr(MedusaDrafter, "draft", counted)
    calibration = Calibration(engine)
    trees = [kind for kind in calibration.kinds() if "tree" in kind.drafter]
    assert any(all(kind in calibration.times for kind in trees) for _ in calibration.run(60.0))
    assert {kind.k for kind in trees if calibration.times[kind]} == {2}
    assert 0 < drafted[False] < drafted[True]


def test_trees_that_were_not_timed_have_no_costs():
    engine = Engine(target(), [EagleDrafter(head_for(target(), 3))], context_limit=512)
    calibration = Calibration(engine)
    calibration.plain = [1.0]
    calibration.times = {kind: [1.5] for kind in calibration.kinds() if "tree" not in kind.drafter}
    assert set(calibration.costs().rounds) == {"eagle", Guess.name}
    engine.target.trees = engine.drafters[0].trees = False
    assert not any("tree" in kind.drafter for kind in Calibration(engine).kinds())
