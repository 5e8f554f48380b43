"""Passes that fail or are interrupted: the answers after them are right."""

from collections.abc import Iterator
from dataclasses import replace

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec import Engine, Options, SpecError
from mlx_spec.arrays import Draft, Length
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter
from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.target import compiled
from mlx_spec.target.cache import Buffer
from mlx_spec.types import Round
from mlx_spec.verify.batch import BatchVerifier
from tests.mlx_spec.heads import head_for, target
from tests.mlx_spec.model_types import build
from tests.mlx_spec.tiny_models import engine_of, one_layer, prompt, text, tiny_llama


@pytest.mark.usefixtures("compiling")
def test_an_interruption_before_bounds_are_set_leaves_no_graph_that_reads_too_few_rows(
    monkeypatch,
):
    """It would be built with the short text's bounds, and be taken for the long one's ever after."""
    long = prompt(600, 1)
    engine, other = (engine_of(one_layer(), context_limit=1000) for _ in range(2))
    text(engine, long[:10], max_tokens=4)

    def interrupted(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(compiled, "Length", interrupted)
        with pytest.raises(KeyboardInterrupt):
            text(engine, long, max_tokens=4)
    for ids in (long[:30], long):
        assert text(engine, ids, max_tokens=16) == text(other, ids, max_tokens=16)


@pytest.mark.usefixtures("compiling")
def test_after_a_first_pass_that_was_interrupted_between_layers_a_prompt_of_one_token_is_answered(
    monkeypatch,
):
    """Such a prompt's first pass is compiled; one layer has rows then, and the other none."""
    engine, other = (engine_of(tiny_llama(), context_limit=400) for _ in range(2))
    honest, left = Buffer.write, [2]

    def interrupted(self, *given):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        honest(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Buffer, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            text(engine, prompt(9), max_tokens=4)
    assert [len(buffer.arrays) for buffer in engine.target.buffers] == [2, 0]
    assert text(engine, [5], max_tokens=12) == text(other, [5], max_tokens=12)


class Uncomputable(Drafter):
    """Its draft is of the right kind, and MLX fails to compute it."""

    name = "uncomputable"

    def candidates(self, length: Length) -> list[Candidate]:
        return [Candidate(self.name, self.name, prior=0.9, limit=3)]

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        nothing = mx.linalg.inv(mx.zeros((3, 3)), stream=mx.cpu).sum() * 0
        return Draft.chain(mx.ones((1, depth), mx.int32) + nothing.astype(mx.int32))


def gated() -> nn.Module:
    return build("qwen3_5")


@pytest.mark.parametrize("make", [target, gated])
@pytest.mark.parametrize("length", [20, 254])
@pytest.mark.parametrize("in_flight", [False, True])
def test_after_a_draft_that_could_not_be_computed_other_answers_are_right(make, length, in_flight):
    """Nothing of its round is used again: rows, recurrent states, and what a head kept of the target."""
    model = make()
    heads = [EagleDrafter(head_for(model))] if make is target else []
    engine = Engine(model, [Uncomputable(), *heads], context_limit=400)
    engine.drafts_in_flight = in_flight
    other, ids = engine_of(model, context_limit=400), prompt(length)
    with pytest.raises(RuntimeError, match="failed"):
        text(engine, ids, max_tokens=12, drafter="+".join(engine.drafter_names), draft_length=3)
    for drafter in ("none", *engine.drafter_names[1:]):
        for asked in (ids, ids[:15]):
            found = text(engine, asked, max_tokens=12, drafter=drafter, draft_length=3)
            assert found == text(other, asked, max_tokens=12)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_answer_that_ends_those_before_it_keeps_its_rows_when_these_fail(elsewhere):
    """It begins while a prompt is read beside a text that is being written, also in another engine."""
    model, draft, ids, other = one_layer(0), one_layer(1), prompt(9, 1), prompt(9, 2)
    engine, options = engine_of(model, draft, context_limit=400), Options(max_tokens=40)
    begun: list[Iterator[Round]] = []
    read: list[Round] = []

    def begin(done: int, total: int) -> None:
        if not begun:
            later = Engine(one_layer(0), engine.drafters, context_limit=400) if elsewhere else engine
            begun.append(later.generate(other, replace(options, draft_length=2)))
            read.extend(next(begun[0]) for _ in range(2))

    rows = engine.rows()
    rows.add(ids, options)
    while not rows.step():
        pass
    rows.add(ids[:5] + prompt(60, 3), options, progress=begin)
    with pytest.raises(SpecError):
        while rows.busy:
            rows.step()
    found = [token for each in (*read, *begun[0]) for token in each.tokens]
    assert found == text(engine_of(model, context_limit=400), other, max_tokens=40)
