"""Some of the target's own layers draft for it: the same text and weights, and a target left as it was."""

from dataclasses import replace
from typing import Any

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options, SpecError, UnsupportedModel
from mlx_spec.arrays import Length
from mlx_spec.drafters import layer_skip
from mlx_spec.drafters.layer_skip import LayerSkipDrafter, with_layers
from tests.mlx_spec.architectures import ARCHITECTURES, tiny_sliding_llama
from tests.mlx_spec.grid import grid
from tests.mlx_spec.model_types import build
from tests.mlx_spec.proof_drafters import Head
from tests.mlx_spec.tiny_models import VOCAB, prompt, ragged, reference, text, tiny_llama, tokens

KEPT = {"llama": [0], "llama_sliding": [1], "qwen3": [0, 2], "gemma3": [0], "gptj": [0]}
"""Layers of each kind are left out: with a window and without, the first and the last."""


@pytest.mark.parametrize(
    ("name", "temperature"),
    grid(KEPT, (0.0, 0.8), usual=[("llama_sliding", 0.8), ("gemma3", 0.0), ("gptj", 0.8)]),
)
def test_text_is_the_plain_one_at_every_length(name, temperature):
    target, ids = build(name) if name == "gptj" else ARCHITECTURES[name](0), prompt(40, 3)
    options = {"max_tokens": 40, "temperature": temperature, "seed": 2}
    wanted = text(Engine(target, context_limit=400), ids, **options)
    engine = Engine(target, [LayerSkipDrafter(target, KEPT[name])], context_limit=400)
    accepted = set()
    for length in (7, None):
        rounds = list(engine.generate(ids, Options(drafter="layer_skip", draft_length=length, **options)))
        assert tokens(rounds) == wanted
        accepted |= {r.accepted for r in rounds}
    assert len(accepted) > 1, "rounds that all accept alike prove nothing"


@pytest.mark.parametrize("bits", [8, pytest.param(None, marks=pytest.mark.slow)])
def test_later_turns_and_several_texts_are_those_of_plain_decoding(bits):
    target = tiny_llama(0, layers=2, dim=128, heads=2)
    engine = Engine(target, [LayerSkipDrafter(target, [0])], context_limit=600, kv_bits=bits)
    plain, ids = Engine(target, context_limit=600, kv_bits=bits), prompt(246, 1)
    for turn in range(2):  # over a border where buffers grow
        out = text(engine, ids, max_tokens=14, draft_length=3)
        assert out == text(plain, ids, max_tokens=14)
        ids = ids + out + prompt(3, turn)
    ragged(engine, "layer_skip")


def test_an_engine_refuses_a_drafter_that_a_later_engine_has_as_it_would_write_into_that_ones_rows():
    target, ids = tiny_llama(0), prompt(90, 1)
    plain, drafter = Engine(target, context_limit=400), LayerSkipDrafter(target, [0])
    earlier, later = (Engine(target, [drafter], context_limit=400) for _ in range(2))
    wanted = text(plain, ids, max_tokens=12)
    assert text(later, ids, max_tokens=12, drafter="none") == wanted
    with pytest.raises(SpecError, match="layer_skip was given to a later engine. Make one for each"):
        text(earlier, prompt(40, 2), max_tokens=12, draft_length=3)
    for length in (0, 3):
        assert text(later, ids, max_tokens=12, draft_length=length) == wanted


def test_it_shares_weights_and_the_rows_of_what_it_keeps_and_leaves_the_target_whole():
    target: Any = tiny_llama(0, layers=4)
    ids = prompt(20, 1)
    stack = list(target.layers)
    drafter = LayerSkipDrafter(target, [0, 3])
    engine = Engine(target, [drafter], context_limit=400)
    text(engine, ids, max_tokens=20, draft_length=3)
    assert list(target.layers) == stack and target.model.layers is target.layers
    view: Any = drafter.cached.model
    assert view.layers[3] is stack[3] and view.model.embed_tokens is target.model.embed_tokens
    assert [a is b for a, b in zip(drafter.cached.buffers, engine.target.buffers, strict=True)] == [
        1,
        0,
        0,
        1,
    ]


def test_the_first_layers_alone_are_the_early_exit_of_the_target():
    whole: Any = tiny_llama(0, layers=4)
    first: Any = tiny_llama(0, layers=4)
    first.model.layers = first.model.layers[:2]
    ids = mx.array([prompt(20, 1)])
    assert mx.array_equal(with_layers(whole, range(2))(ids), first(ids))


def test_a_drafter_that_taps_the_same_layers_sees_the_target_alone():
    target: Any = tiny_llama(0)
    ids = prompt(20, 1)
    raw, wanted = target.layers[0], reference(target, ids, 16)
    head = Head(0, mx.random.normal((32, VOCAB), key=mx.random.key(1)))
    engine = Engine(target, [LayerSkipDrafter(target, [0]), head], context_limit=400)
    for drafter in ("layer_skip", "head", "auto"):
        assert text(engine, ids, max_tokens=16, drafter=drafter, draft_length=2) == wanted
    view: Any = with_layers(target, [0])
    assert target.layers[0] is not raw and view.layers[0] is raw


@pytest.mark.parametrize("name", ["gemma4_text", "qwen3_next", "mamba", "lfm2", "hunyuan"])
def test_a_target_whose_layers_depend_on_each_other_is_refused_by_name(name):
    target = ARCHITECTURES["gemma4_shared"](0) if name == "gemma4_text" else build(name)
    with pytest.raises(UnsupportedModel, match=f"No layer of {name} can be left out") as refused:
        LayerSkipDrafter(target, [0])
    assert str(refused.value).count("Use ") == 1


@pytest.mark.parametrize("layers", [[], [0, 1], [2], [-1]])
def test_layers_that_the_target_does_not_have_are_refused(layers):
    with pytest.raises(UnsupportedModel, match="of a target that has 2"):
        LayerSkipDrafter(tiny_llama(0), layers)


def test_a_target_that_lost_its_layers_to_the_drafter_is_caught(monkeypatch):
    target, wanted = tiny_sliding_llama(0), reference(tiny_sliding_llama(0), prompt(40, 3), 16)
    monkeypatch.setattr(layer_skip, "copy", lambda module: module)
    engine = Engine(target, [LayerSkipDrafter(target, [1])], context_limit=400)
    assert text(engine, prompt(40, 3), max_tokens=16, draft_length=3) != wanted


def test_a_draft_that_begins_one_token_too_early_is_caught(monkeypatch):
    """It would overwrite a row that the target does not write again."""
    target, ids = tiny_llama(0), prompt(40, 3)
    engine, wanted = (
        Engine(target, [LayerSkipDrafter(target, [1])], context_limit=400),
        reference(target, ids, 30),
    )
    honest = LayerSkipDrafter.draft

    def early(self, context, depth, verifier):
        back = replace(
            context, length=Length(context.length.value - 1, context.length.low - 1, context.length.high)
        )
        return honest(self, back, depth, verifier)

    monkeypatch.setattr(LayerSkipDrafter, "draft", early)
    assert text(engine, ids, max_tokens=30, draft_length=3) != wanted
