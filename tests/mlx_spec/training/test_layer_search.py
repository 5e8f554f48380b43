"""The search finds the layers that matter least, and its acceptance rates are those of rounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.drafters.layer_skip import LayerSkipDrafter
from mlx_spec.training import layer_search
from mlx_spec.training.layer_search import LONGEST, Costs, Judge, search
from mlx_spec.training.study import Text
from tests.mlx_spec.architectures import ARCHITECTURES
from tests.mlx_spec.tiny_models import prompt, text, tiny_llama

COSTS = Costs({1: 1.0, 8: 1.2}, one_layer=0.3, layers=6)


def of_six_layers():
    """Layers 1, 3 and 4 hardly do anything."""
    target: Any = tiny_llama(0, layers=6)
    for layer in (1, 3, 4):
        for matrix in (target.layers[layer].self_attn.o_proj, target.layers[layer].mlp.down_proj):
            matrix.weight = matrix.weight * 1e-5
    return target


def answers(target, count: int = 2):
    prompts = [prompt(9, seed) for seed in range(count)]
    return [
        Text(ids + text(Engine(target, context_limit=99), ids, max_tokens=20), len(ids)) for ids in prompts
    ]


def test_only_layers_that_do_not_matter_are_left_out():
    target = of_six_layers()
    found = list(search(target, answers(target), COSTS))
    assert found[-1].layers == (0, 2, 5) and found[-1].acceptance == (1.0,) * LONGEST
    assert found[-1].gain == pytest.approx((1 + LONGEST) / (1.2 + LONGEST * COSTS.step(3)))
    gains = [each.gain for each in found]
    assert gains == sorted(gains), "whenever it is left, it has the best so far"


def judged(target, ids: Sequence[int], kept: list[int]) -> float:
    """1 if the last token would be drafted."""
    return Judge(target, [Text(ids, len(ids) - 1)], COSTS).found(kept).acceptance[0]


def test_its_judgement_of_each_token_agrees_with_rounds_of_one():
    target = tiny_llama(0, layers=4)
    texts, kept = answers(target), [0, 2, 3]
    right = [
        [judged(target, text.tokens[:end], kept) for end in range(text.begin + 1, len(text.tokens) + 1)]
        for text in texts
    ]
    assert Judge(target, texts, COSTS).found(kept).acceptance[0] == pytest.approx(np.mean(right))
    engine = Engine(target, [LayerSkipDrafter(target, kept)], context_limit=99)
    seen = set()
    for answer, wanted in zip(texts, right, strict=True):
        place = 0
        options = Options(max_tokens=20, draft_length=1, drafter="layer_skip")
        for read in engine.generate(answer.tokens[: answer.begin], options):
            if read.drafted and place < 19:
                assert bool(read.accepted) == bool(wanted[place])
                seen.add(read.accepted)
            place += len(read.tokens)
    assert seen == {0, 1}


def test_a_pass_that_was_delayed_costs_no_more_than_one_over_more_rows(monkeypatch):
    seconds = iter([9.0, 1.0, 3.0, 2.0, 0.5])
    monkeypatch.setattr(layer_search, "_seconds", lambda model, rows: next(seconds))
    assert layer_search.timed(tiny_llama(0)) == Costs({1: 1.0, 2: 1.0, 4: 2.0, 8: 2.0}, 0.5, 2)


def test_a_target_whose_layers_cannot_be_left_out_is_refused_before_anything_is_timed():
    target = ARCHITECTURES["gemma4_shared"](0)
    with pytest.raises(UnsupportedModel, match="No layer of gemma4_text"):
        next(search(target, [Text(prompt(20, 1), 9)], COSTS))
