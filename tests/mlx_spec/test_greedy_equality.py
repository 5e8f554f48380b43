"""Greedy text with any drafting is mlx-lm's own plain text, token for token (float32, stock BLAS)."""

import random

import mlx.core as mx
import pytest

from mlx_spec import Options
from mlx_spec.arrays import Length, Pass
from mlx_spec.policy.policy import Fixed
from mlx_spec.target import model as cached_model
from mlx_spec.target.model import Model
from tests.mlx_spec.architectures import ARCHITECTURES, nearly
from tests.mlx_spec.grid import grid
from tests.mlx_spec.heads import Uneven
from tests.mlx_spec.tiny_models import VOCAB, engine_of, prompt, reference, text, tiny_llama, tokens

PROMPTS = {1: prompt(1, 1), 7: prompt(7, 4), 30: prompt(30, 3), 70: prompt(70, 5)}
"""One token; within the sliding windows of 24 and 32, past the narrow one, past both and prefilled."""


@pytest.mark.parametrize(
    ("name", "length"),
    grid(ARCHITECTURES, PROMPTS, usual=list(zip(ARCHITECTURES, (1, 70, 7, 30, 7), strict=True))),
)
def test_greedy_text_is_that_of_mlx_lm(name, length):
    ids = PROMPTS[length]
    # Enough to show a cache that is not rewound; a short prompt's text has to outgrow the windows.
    target, count = ARCHITECTURES[name](0), max(20, 36 - len(ids))
    wanted = reference(target, ids, count)
    assert len(set(wanted)) > 10, "a text that repeats one token proves nothing"
    engine = engine_of(target, nearly(ARCHITECTURES[name]), context_limit=2048)
    assert text(engine, ids, max_tokens=count, drafter="none") == wanted
    assert text(engine, ids, max_tokens=count, drafter="auto", draft_length=1) == wanted
    rounds = list(engine.generate(ids, Options(max_tokens=count, drafter="model", draft_length=4)))
    assert tokens(rounds) == wanted
    assert 0.1 < engine.stats(rounds).acceptance_rate < 1, "drafts all right or all wrong prove nothing"


@pytest.mark.parametrize(
    ("name", "length"), grid(("llama", "gemma3"), PROMPTS, usual=[("llama", 70), ("gemma3", 7)])
)
def test_a_target_that_is_not_rewound_is_caught(name, length, monkeypatch):
    """Mutant: rejected rows stay in the cache, as in mlx-lm's D1."""
    target, ids = ARCHITECTURES[name](0), PROMPTS[length]
    wanted = reference(target, ids, 16)
    engine = engine_of(target, nearly(ARCHITECTURES[name], noise=0.3), context_limit=2048)
    views, forward, left = cached_model.views, Model.forward, [0]

    def not_rewound(entries, at, recurrent, tree):
        return views(entries, at.plus(left[0]), recurrent, tree)

    def counting(self, p):
        output = forward(self, p)
        left[0] += self is engine.target and p.ids.shape[1] == 4
        return output

    monkeypatch.setattr(cached_model, "views", not_rewound)
    monkeypatch.setattr(Model, "forward", counting)
    assert text(engine, ids, max_tokens=16, drafter="model", draft_length=3) != wanted


@pytest.mark.parametrize("rows", [80, 140])
def test_a_draft_with_more_or_fewer_embedding_rows_changes_nothing(rows):
    target, ids = tiny_llama(0, layers=1, vocab=100), prompt(5, 2, vocab=80)
    engine = engine_of(target, tiny_llama(1, layers=1, vocab=rows), context_limit=2048)
    options = {"max_tokens": 10, "drafter": "model", "draft_length": 3}
    assert text(engine, ids, **options) == reference(target, ids, 10)
    for rule in ("block", "token"):
        out = text(engine, ids, temperature=1.0, verify=rule, **options)
        assert len(out) == 10 and all(0 <= t < 100 for t in out)


def test_no_rounding_differs_between_plain_and_drafted_rows():
    """Bitwise: the verify pass gives each row the logits that a plain pass gives it."""
    model, ids = tiny_llama(0), prompt(24, 9)
    one, many = Model(model), Model(model)
    one.prefill(ids, 20)
    many.prefill(ids, 20)
    rows = [one.forward(Pass(mx.array([[ids[i]]]), Length.exact(i))).logits[0, 0] for i in range(20, 24)]
    lazy = many.forward(Pass(mx.array([ids[20:24]]), Length(mx.array([20], mx.int32), 18, 22)))
    assert mx.array_equal(mx.stack(rows), lazy.logits[0])


def test_a_draft_model_keeps_in_step_through_any_run_of_plain_rounds():
    """The target drafts for itself: if it were one token out of step, not all would be accepted."""
    target, ids = tiny_llama(0), prompt(9, 1)
    engine = engine_of(target, target, context_limit=2048)
    engine.controller = Uneven([3, 0, 0, 2, 0, 5, 1, 1, 0, 0, 0, 4])  # type: ignore[assignment]
    rounds = list(engine.generate(ids, Options(max_tokens=40, drafter="model")))
    assert tokens(rounds) == reference(target, ids, 40)
    assert engine.stats(rounds).acceptance_rate == 1
    assert {len(r.drafted) for r in rounds} >= {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize("length", [-2, 99])
def test_a_policy_may_plan_any_length(length):
    target, ids = tiny_llama(0), prompt(9, 1)
    engine = engine_of(target, nearly(tiny_llama), context_limit=2048)
    engine.controller = Fixed(length)  # type: ignore[assignment]
    rounds = list(engine.generate(ids, Options(max_tokens=20)))
    assert tokens(rounds) == reference(target, ids, 20)
    assert any(r.drafted for r in rounds) == (length > 0)


def test_a_penalty_over_the_whole_text_sees_its_beginning_where_the_text_fills_its_array():
    engine, draw = engine_of(tiny_llama(3), nearly(tiny_llama, 3, 0.002), context_limit=512), random.Random(1)
    ids = [draw.randrange(20 * (i > 7), 20 if i < 8 else VOCAB) for i in range(255)]
    asked = {"max_tokens": 24, "repetition_penalty": 5, "repetition_context": 2**20}
    assert text(engine, ids, draft_length=15, **asked) == text(engine, ids, draft_length=0, **asked)
