"""Benchmarks on random models and empty contexts: acceptance as set, rounds timed."""

import mlx.core as mx
import pytest

from benchmarks import long_context, real_shapes
from benchmarks.peers import mlx_lm_side, ours
from benchmarks.peers.answering import Ask
from benchmarks.shapes import DRAFTS, TARGETS, ScriptedDraft, random_draft, random_target
from mlx_spec import Engine
from mlx_spec.drafters.model import ModelDrafter

VOCAB = 512


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_imposed_acceptance_is_what_was_asked_in_every_program(temperature: float) -> None:
    mx.random.seed(1)  # of the weights
    target = random_target(TARGETS["tiny"], VOCAB, 4, mx.float32)
    draft = random_draft(DRAFTS["tiny"], VOCAB, 4, mx.float32)
    per_pass = {}
    for share in (0.0, 0.7, 1.0):
        scripted = ScriptedDraft(draft, VOCAB, share)
        engine = Engine(target, [ModelDrafter(scripted)], context_limit=400)

        def ask(way: str) -> Ask:
            return Ask((5, 6, 7), (), 64, temperature, 0, way, 3)

        mine = ours.answer(engine, ask("model"))
        theirs = mlx_lm_side.answer(target, scripted, ask("speculative"))
        assert mine.tokens == theirs.tokens == tuple(range(8, 72))
        assert abs(mine.passes - theirs.passes) <= 1
        per_pass[share] = len(mine.tokens) / mine.passes
    assert per_pass[0.0] == 1
    assert per_pass[1.0] == pytest.approx(4, rel=0.1)  # the first round may be plain
    assert per_pass[0.7] == pytest.approx(1 + 0.7 + 0.7**2 + 0.7**3, rel=0.25)


@pytest.mark.slow
def test_every_side_is_measured_at_every_acceptance() -> None:
    found = real_shapes.measure(
        ("tiny", "tiny"), [0.1, 0.7], 4, vocab=VOCAB, context=8, max_tokens=16, temperature=0.0, repeats=1
    )
    assert list(found["acceptance"]) == ["10% accepted", "70% accepted"]
    assert {speed["side"] for speed in found["speeds"]} == {s.name for s in real_shapes.sides("")}
    assert ("ours auto", "mlx-lm plain") in {(ratio["ours"], ratio["peer"]) for ratio in found["ratios"]}


def test_rounds_are_timed_at_every_context_with_the_share_of_the_host() -> None:
    target = random_target(TARGETS["tiny"], VOCAB, None, mx.float32)
    draft = random_draft(DRAFTS["tiny"], VOCAB, None, mx.float32)
    for bits in (None, 8):
        engine = Engine(target, [ModelDrafter(draft)], context_limit=2000, kv_bits=bits)
        costs = long_context.measure(engine, [64, 1500], 2, bits)
        found = [(cost.context, cost.draft_length) for cost in costs]
        assert found == [(64, 0), (64, 3), (1500, 0), (1500, 3)]
        assert all(cost.round_seconds > 0 and cost.host_seconds > 0 for cost in costs)
        assert engine.target.seen[0] >= 1500 and engine.target.buffers[0].capacity >= 1500
