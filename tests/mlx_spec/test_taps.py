"""Hidden states of the target reach drafters: of every pass, every row, and nothing else changes."""

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.arrays import Length, Pass
from mlx_spec.target.model import Model
from tests.mlx_spec.proof_drafters import Head
from tests.mlx_spec.tiny_models import ARCHITECTURES, VOCAB, prompt, text, tiny_llama, tokens


def with_head(layer: int = 1) -> tuple[Engine, Head]:
    head = Head(layer, mx.random.normal((32, VOCAB), key=mx.random.key(1)))
    return Engine(tiny_llama(0), [head], context_limit=2048), head


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


@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("drafter", ["head", "auto"])
def test_an_untrained_head_changes_no_word(drafter, temperature):
    options = {"max_tokens": 40, "temperature": temperature, "seed": 2}
    wanted = text(Engine(tiny_llama(0), context_limit=512), prompt(70, 1), **options)
    engine, _ = with_head()
    rounds = list(engine.generate(prompt(70, 1), Options(drafter=drafter, draft_length=1, **options)))
    assert tokens(rounds) == wanted and any(r.drafted for r in rounds)


def test_prefill_and_every_round_are_observed_without_a_gap():
    (engine, head), ids = with_head(), prompt(1300, 1)
    read = list(engine.generate(ids, Options(max_tokens=3, drafter="head")))
    end = 0
    for first, rows in head.observed:
        assert first <= end, "some positions were never shown"
        end = first + rows
    assert end >= len(ids) + len(read) - 1


def test_the_state_that_a_head_picks_is_that_of_the_last_token_read():
    (engine, head), written = with_head(), prompt(20, 1)
    engine.drafts_in_flight = False
    for read in engine.generate(list(written), Options(max_tokens=25, drafter="head", draft_length=1)):
        written += read.tokens
        if read.drafted:
            fresh, end = Model(tiny_llama(0), taps=[1]), len(written) - 2
            fresh.prefill(written, end)
            state = fresh.forward(Pass(mx.array([[written[end]]]), Length.exact(end))).hidden[1]
            assert head.state is not None and mx.allclose(head.state, state[:, 0], atol=1e-4)


def test_a_layer_that_the_target_does_not_have_is_refused_by_name():
    with pytest.raises(UnsupportedModel, match="layer 7, and the target has 2 layers"):
        with_head(layer=7)
