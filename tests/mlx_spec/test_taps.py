"""Hidden states of every pass and row of the target reach drafters, and its logits stay the same."""

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.arrays import Length, Pass
from mlx_spec.target.model import Model
from tests.mlx_spec.architectures import ARCHITECTURES
from tests.mlx_spec.model_types import build
from tests.mlx_spec.proof_drafters import Head
from tests.mlx_spec.tiny_models import VOCAB, prompt, tiny_llama


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_a_tapped_model_gives_the_same_logits_and_what_its_layers_put_out(name):
    model, ids = ARCHITECTURES[name](0), prompt(20, 1)
    untapped = Model(model)
    untapped.prefill(ids, 19)
    p = Pass(mx.array([ids[19:]]), Length.exact(19))
    wanted = untapped.forward(p).logits
    tapped = Model(ARCHITECTURES[name](0), taps=[0, 1])
    tapped.prefill(ids, 19)
    output = tapped.forward(p)
    assert mx.array_equal(output.logits, wanted)
    assert {layer: x.shape for layer, x in output.hidden.items()} == {0: (1, 1, 32), 1: (1, 1, 32)}
    assert not mx.allclose(output.hidden[0], output.hidden[1])


def test_layers_that_give_several_states_are_refused_before_anything_is_read():
    head = Head(0, mx.zeros((32, VOCAB)))
    with pytest.raises(UnsupportedModel, match="does not give one state after each layer"):
        Engine(build("gemma3n"), [head], context_limit=400)


def test_prefill_and_every_round_are_observed_without_a_gap():
    head, ids = Head(1, mx.random.normal((32, VOCAB), key=mx.random.key(1))), prompt(1300, 1)
    engine = Engine(tiny_llama(0), [head], context_limit=2048)
    read = list(engine.generate(ids, Options(max_tokens=12, drafter="head", draft_length=1)))
    assert any(each.drafted for each in read)
    end = 0
    for first, rows in head.observed:
        assert first <= end, "some positions were never shown"
        end = first + rows
    assert end >= len(ids) + sum(len(each.tokens) for each in read) - 1
