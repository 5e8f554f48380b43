"""Trees of drafted tokens: any shape, any cache, the same text; each mutant gives another one."""

from dataclasses import replace
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec import Engine, Options
from mlx_spec.arrays import Draft, Tree
from mlx_spec.policy.costs import Costs, RoundCost
from mlx_spec.target.cache import Buffer
from mlx_spec.target.view import View
from mlx_spec.verify.rules import walk
from tests.mlx_spec.architectures import ARCHITECTURES, nearly, quantizable, tiny_gemma3, tiny_sliding_llama
from tests.mlx_spec.grid import grid
from tests.mlx_spec.model_types import build
from tests.mlx_spec.proof_drafters import BINARY, SHAPES, Branching
from tests.mlx_spec.tiny_models import one_layer, prompt, ragged, reference, text, tiny_llama, tokens

TREE: dict[str, Any] = {"drafter": "branching", "draft_length": 8}
PLAIN: dict[str, Any] = {"drafter": "none"}


def branching(make, shape: str, noise: float = 0.1, **options) -> Engine:
    engine = Engine(
        make(0), [Branching(nearly(make, noise=noise), SHAPES[shape])], context_limit=2048, **options
    )
    assert engine.target.trees
    return engine


USUAL = {
    ("llama", "chain", 0.0), ("llama_sliding", "lopsided", 0.0),
    ("gemma3", "lopsided", 0.9), ("gemma4_shared", "binary", 0.9),
}  # fmt: skip
"""Every kind of cache and shape, hot and cold; the other combinations are for `make slow`."""


@pytest.mark.parametrize(
    ("name", "shape", "temperature"), grid(ARCHITECTURES, SHAPES, (0.0, 0.9), usual=USUAL)
)
def test_a_tree_of_any_shape_gives_the_plain_text(name, shape, temperature):
    """Windows of 24 and 32 are not filled after 5 tokens and are after 40."""
    engine = branching(ARCHITECTURES[name], shape)
    for length, count in ((5, 22), (40, 10)):
        ids, options = prompt(length, 3), {"max_tokens": count, "seed": 4, "temperature": temperature}
        assert text(engine, ids, **TREE, **options) == text(engine, ids, **PLAIN, **options)


def test_tokens_of_a_tree_behind_the_end_of_the_text_count_as_not_drafted():
    engine, ids = branching(one_layer, "binary", noise=0.0), prompt(9, 1)
    [_, whole, *_] = engine.generate(ids, Options(max_tokens=30, **TREE))
    stop = frozenset(whole.tokens[1:2])
    [_, read] = engine.generate(ids, Options(max_tokens=30, stop_tokens=stop, **TREE))
    assert (whole.draft_length, whole.accepted, read.draft_length, read.accepted) == (3, 3, 2, 2)
    assert len(read.drafted) == len(whole.drafted)
    whole = replace(whole, steady=True)
    assert whole.cut(3, "stop").steady and not whole.cut(2, "stop").steady, "as long as the whole draft took"
    assert engine.stats([read]).acceptance_by_position == (1, 1)


@pytest.mark.parametrize("name", ["phixtral", "gemma2"])
def test_an_attention_named_after_rope_and_one_that_reads_single_texts_take_trees(name):
    target = build(name)
    engine = Engine(target, [Branching(target, SHAPES["binary"])], context_limit=400)
    rounds = list(engine.generate(prompt(9, 1), Options(max_tokens=12, **TREE)))
    assert tokens(rounds) == reference(target, prompt(9, 1), 12)
    assert any(r.accepted for r in rounds) and engine.target.trees


@pytest.mark.parametrize("rule", ["token", "block"])
def test_trees_are_right_under_every_rule_at_temperature_0_and_accepted_above(rule):
    engine, ids = branching(one_layer, "binary", noise=0.0), prompt(9, 1)
    assert text(engine, ids, max_tokens=24, verify=rule, **TREE) == reference(engine.target.model, ids, 24)
    rounds = engine.generate(ids, Options(max_tokens=30, temperature=0.7, verify=rule, draft_length=3))
    assert sum(r.accepted for r in rounds) > 0


def test_a_tree_across_every_border_of_capacity_and_rejected_at_every_depth_gives_the_plain_text():
    engine, accepted = branching(one_layer, "binary"), set()
    for length in (120, 246):
        ids = prompt(length, 3)
        rounds = list(engine.generate(ids, Options(max_tokens=30, **TREE)))
        assert tokens(rounds) == reference(engine.target.model, ids, 30)
        accepted |= {r.accepted for r in rounds if len(r.drafted) > 4}
    assert accepted == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("make", "shape", "bits"),
    [
        (tiny_llama, "binary", None),
        (quantizable, "lopsided", 8),
        pytest.param(quantizable, "binary", 8, marks=pytest.mark.slow),
    ],
)
def test_three_ragged_texts_with_trees_are_those_of_single_runs(make, shape, bits):
    assert ragged(branching(make, shape, kv_bits=bits), "branching", 8) > 5


@pytest.mark.parametrize(("length", "context"), [(1, 20), (3, 2), (30, 20)])
def test_penalties_see_the_path_to_each_row(length, context):
    engine, ids = branching(one_layer, "binary"), prompt(length, 8)
    options = {"repetition_penalty": 1.4, "repetition_context": context, "temperature": 0.8, "max_tokens": 16}
    assert text(engine, ids, **TREE, **options) == text(engine, ids, **PLAIN, **options)


def test_a_penalty_that_looks_far_back_costs_a_tree_no_array_for_each_token(monkeypatch):
    engine, honest, stacked = branching(one_layer, "binary"), mx.stack, []

    def noting(arrays, axis=0):
        stacked.append(len(arrays))
        return honest(arrays, axis)

    monkeypatch.setattr(mx, "stack", noting)
    text(engine, prompt(9, 8), repetition_penalty=1.4, repetition_context=5000, max_tokens=8, **TREE)
    assert max(stacked) < 32


def test_later_turns_build_on_the_rows_that_a_tree_left():
    engine, ids = branching(tiny_gemma3, "lopsided"), prompt(9, 1)
    for turn in range(2):
        out = text(engine, ids, max_tokens=14, **TREE)
        assert out == reference(engine.target.model, ids, 14)
        ids = ids + out + prompt(3, turn)


def shared_by_siblings(self, first, last, window):
    return mx.ones((1, self.tree.depths.shape[1], last - first), mx.bool_)


def one_after_the_other(draft: Draft, honest=Tree.of) -> Tree | None:
    tree = honest(draft)
    return tree and Tree(tree.parents, mx.arange(tree.depths.shape[1])[None], tree.visible)


def not_moved(self, start, path):
    """Mutant: accepted rows are not moved together."""


@pytest.mark.parametrize(
    ("owner", "name", "mutant"),
    [
        (Buffer, "move", not_moved),
        (View, "_tree_mask", shared_by_siblings),
        (Tree, "of", staticmethod(one_after_the_other)),
    ],
)
def test_a_broken_tree_pass_is_caught(monkeypatch, owner, name, mutant):
    engine, ids = branching(tiny_sliding_llama, "binary", noise=0.02), prompt(20, 1)
    wanted = reference(engine.target.model, ids, 16)
    monkeypatch.setattr(owner, name, mutant)
    assert text(engine, ids, max_tokens=16, **TREE) != wanted


def test_parents_may_come_in_any_order_that_has_them_before_their_children():
    draft = Draft(mx.zeros((1, 5), mx.int32), 3, mx.array([[0, 1, 0, 2, 3]], mx.int32))
    tree = Tree.of(draft)
    assert tree is not None and tree.depths.tolist() == [[0, 1, 2, 1, 3, 2]]
    visible = [[i for i, seen in enumerate(row) if seen] for row in np.array(tree.visible[0]).tolist()]
    assert visible == [[0], [0, 1], [0, 1, 2], [0, 3], [0, 1, 2, 4], [0, 3, 5]]


def test_the_walk_goes_to_the_child_that_is_the_targets_own_and_no_further():
    parents = mx.array([0, 0, 0, 2, 2, 4], mx.int32)
    drafted = mx.array([7, 8, 8, 9, 5], mx.int32)

    def walked(own: list[int]) -> list[int]:
        accepted, path = walk(mx.array(own, mx.int32), drafted, parents, 3)
        return path.tolist()[: accepted.item() + 1]  # type: ignore[index,operator]

    assert walked([3, 0, 0, 0, 0, 0]) == [0]
    assert walked([7, 8, 0, 0, 0, 0]) == [0, 1], "8 follows another row"
    assert walked([8, 0, 9, 0, 5, 0]) == [0, 2, 4, 5]
    assert walked([8, 0, 8, 0, 5, 0]) == [0, 2, 3]


@pytest.mark.parametrize("rule", ["coupled", "token"])
def test_the_controller_plans_trees_by_their_depth(rule):
    target, ids = one_layer(0), prompt(9, 1)
    engine = Engine(target, [Branching(nearly(one_layer), BINARY)], context_limit=400)
    engine.controller.costs = Costs(RoundCost(1.0), {"branching": {1: RoundCost(1.1), 2: RoundCost(1.2)}})
    rounds = list(engine.generate(ids, Options(max_tokens=40, verify=rule)))
    assert tokens(rounds) == reference(target, ids, 40)
    drafted = [read for read in rounds if read.drafted]
    assert drafted and all(read.accepted <= read.draft_length < len(read.drafted) for read in drafted)
    assert max(engine.controller.costs.rounds["branching"]) <= 3
    assert len(engine.stats(rounds).acceptance_by_position) <= 3
