"""A draft model whose head is cut to some tokens guesses among them, and changes no text."""

from dataclasses import replace

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec import BadOption, Options, UnsupportedModel
from mlx_spec.drafters.draft_head import restrict_head
from tests.mlx_spec.architectures import nearly, tiny_gemma3, tiny_qwen3
from tests.mlx_spec.model_types import build
from tests.mlx_spec.tiny_models import VOCAB, engine_of, prompt, tiny_llama, tokens

EVEN = range(0, VOCAB, 2)


@pytest.mark.parametrize("make", [tiny_llama, tiny_qwen3, tiny_gemma3], ids=["tied", "untied", "scaled"])
@pytest.mark.parametrize("bits", [None, 8])
def test_logits_of_the_tokens_kept_are_unchanged_and_the_others_are_never_the_best(make, bits):
    ids = mx.array([prompt(6, 1)])
    whole, cut = make(0), make(0)
    if bits:
        for model in (whole, cut):
            nn.quantize(model, group_size=32, bits=bits)
    restrict_head(cut, EVEN)
    before, after = whole(ids)[0], cut(ids)[0]
    assert mx.allclose(before[:, ::2], after[:, ::2], rtol=1e-5, atol=1e-5)
    assert (after[:, 1::2] == -mx.inf).all()


@pytest.mark.parametrize(("rule", "temperature"), [("coupled", 0.9), ("token", 0.9), ("block", 0.9)])
def test_a_cut_head_works_and_changes_no_text(rule, temperature):
    draft, ids = nearly(tiny_llama), prompt(9, 1)
    restrict_head(draft, EVEN)
    engine = engine_of(tiny_llama(0), draft, context_limit=400)
    options = Options(max_tokens=16, temperature=temperature, verify=rule, drafter="model", draft_length=3)
    rounds = list(engine.generate(ids, options))
    assert {t % 2 for r in rounds for t in r.drafted} == {0}
    assert any(r.accepted for r in rounds) and len(tokens(rounds)) == 16
    if rule == "coupled":
        assert tokens(rounds) == tokens(engine.generate(ids, replace(options, drafter="none")))


@pytest.mark.parametrize("kept", [[5, 1, 1, 3, VOCAB + 7], mx.array([1, 3, 5])], ids=["list", "array"])
def test_a_head_is_the_same_whatever_the_order_of_its_tokens(kept):
    """Ids beyond the model's rows are left out: tokenizers have such ids."""
    ids, sorted_head, head = mx.array([prompt(6, 1)]), tiny_llama(0), tiny_llama(0)
    restrict_head(sorted_head, [1, 3, 5])
    restrict_head(head, kept)
    assert mx.array_equal(sorted_head(ids), head(ids))


@pytest.mark.parametrize(
    ("kept", "why"),
    [
        ([], f"draft_head holds none of the draft model's {VOCAB} tokens"),
        ([VOCAB, VOCAB + 1], "draft_head holds none of"),
        ([3, -1], "There is no token -1, which draft_head holds"),
    ],
)
def test_a_head_without_a_token_or_of_what_is_no_token_is_refused(kept, why):
    model = tiny_llama(0)
    with pytest.raises(BadOption, match=why):
        restrict_head(model, kept)
    assert model(mx.array([[1]])).min() > -mx.inf, "left as it was"


def test_a_model_without_a_plain_head_is_refused():
    model = tiny_llama(0)
    model.another = nn.Linear(8, VOCAB)  # type: ignore[attr-defined]
    model.third = nn.Linear(8, VOCAB)  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedModel, match="2 layers.*--draft-head"):
        restrict_head(model, EVEN)


def test_a_model_that_reads_its_embeddings_weights_itself_is_refused_and_left_as_it_was():
    """As in Llama 4's code with tied embeddings: it would fail amid the first draft."""
    model, ids = build("seed_oss"), mx.array([prompt(6, 1)])
    model.tie_word_embeddings = True  # type: ignore[assignment]
    del model.lm_head
    before = model(ids)
    with pytest.raises(UnsupportedModel, match="seed_oss computes all rows.*without --draft-head"):
        restrict_head(model, EVEN)
    assert mx.array_equal(model(ids), before)
