"""Greedy text with any drafting is mlx-lm's own plain text, token for token (float32, stock BLAS)."""

import mlx.core as mx
import pytest
from mlx_lm.generate import generate_step

from mlx_spec import Engine, Options
from mlx_spec.candidate import NO_CANDIDATE
from mlx_spec.policy.plan import Fixed
from tests.mlx_spec.tiny_models import ARCHITECTURES, engine_of, nearly, prompt, tiny_llama

TOKENS = 40
PROMPTS = [prompt(1, 1), prompt(7, 2), prompt(30, 3), prompt(70, 5)]
"""One token; within the sliding windows of 24 and 32, past the narrow one, past both and prefilled."""
SHORTEST = 24
"""Enough tokens to show a cache that does not go back; beyond, a text has to leave the windows behind."""


def text(engine: Engine, ids: list[int], **options) -> list[int]:
    return [t for r in engine.generate(ids, Options(**{"max_tokens": TOKENS, **options})) for t in r.tokens]


def reference(model, ids: list[int], count: int = TOKENS, **processors) -> list[int]:
    return [int(token) for token, _ in generate_step(mx.array(ids), model, max_tokens=count, **processors)]


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("ids", PROMPTS, ids=lambda p: f"prompt{len(p)}")
def test_greedy_text_is_that_of_mlx_lm(name, ids):
    target, count = ARCHITECTURES[name](0), max(SHORTEST, TOKENS - len(ids) + 1)
    wanted = reference(target, ids, count)
    assert len(set(wanted)) > 10, "a text that repeats one token proves nothing"
    engine = engine_of(target, nearly(ARCHITECTURES[name]), context_limit=2048)
    assert text(engine, ids, max_tokens=count, drafter="none") == wanted
    for length in (1, 4):
        assert text(engine, ids, max_tokens=count, drafter="model", draft_length=length) == wanted
    assert text(engine, ids, max_tokens=count, drafter="auto", draft_length=4) == wanted
    assert text(engine, ids, max_tokens=count, drafter="lookup", draft_length=4) == wanted


@pytest.mark.parametrize("name", ["llama", "gemma3"])
@pytest.mark.parametrize("ids", PROMPTS, ids=lambda p: f"prompt{len(p)}")
def test_a_target_that_is_not_rewound_is_caught(name, ids, monkeypatch):
    """The broken mutant: rejected rows stay in the cache, as in mlx-lm's D1."""
    from mlx_spec.target import model as cached_model

    target = ARCHITECTURES[name](0)
    wanted = reference(target, ids, SHORTEST)
    engine = engine_of(target, nearly(ARCHITECTURES[name], noise=0.3), context_limit=2048)

    honest = cached_model.views
    skew = {"rows": 0}

    def not_rewound(entries, at, recurrent, tree):
        return honest(entries, at.plus(skew["rows"]), recurrent, tree)

    forward = cached_model.Model.forward

    def counting(self, p):
        output = forward(self, p)
        if self is engine.target and p.ids.shape[1] == 4:
            skew["rows"] += 1
        return output

    monkeypatch.setattr(cached_model, "views", not_rewound)
    monkeypatch.setattr(cached_model.Model, "forward", counting)
    assert text(engine, ids, max_tokens=SHORTEST, drafter="model", draft_length=3) != wanted


def test_the_draft_is_right_often_enough_for_equality_to_mean_something():
    for name, make in ARCHITECTURES.items():
        engine = engine_of(make(0), nearly(make), context_limit=2048)
        rounds = list(
            engine.generate(PROMPTS[2], Options(max_tokens=TOKENS, drafter="model", draft_length=3))
        )
        stats = engine.stats(rounds)
        assert 0.2 < stats.acceptance_rate < 1, (name, stats.acceptance_rate)


def test_a_draft_with_more_or_fewer_embedding_rows_changes_nothing():
    target = tiny_llama(0, layers=1, vocab=100)
    wanted = reference(target, PROMPTS[1][:5])
    for rows in (80, 100, 140):
        engine = engine_of(target, tiny_llama(1, layers=1, vocab=rows), context_limit=2048)
        ids = PROMPTS[1][:5]
        for options in ({}, {"temperature": 1.0, "verify": "block"}, {"temperature": 1.0, "verify": "token"}):
            out = text(engine, ids, drafter="model", draft_length=3, **options)
            assert len(out) == TOKENS and all(0 <= t < 100 for t in out)
            if not options:
                assert out == wanted


def test_untied_embeddings_and_many_layers_change_nothing():
    target = tiny_llama(3, layers=5, tied=False)
    engine = engine_of(target, tiny_llama(3, layers=1, tied=False), context_limit=2048)
    assert text(engine, PROMPTS[0], drafter="model", draft_length=2) == reference(target, PROMPTS[0])


def test_no_rounding_differs_between_plain_and_drafted_rows():
    """Bitwise: the verify pass gives each row the logits that a plain pass gives it."""
    from mlx_spec.arrays import Length, Pass
    from mlx_spec.target.model import Model

    model, ids = tiny_llama(0), prompt(24, 9)
    one, many = Model(model), Model(model)
    one.prefill(ids, 20)
    many.prefill(ids, 20)
    rows = [one.forward(Pass(mx.array([[ids[i]]]), Length.exact(i))).logits[0, 0] for i in range(20, 24)]
    lazy = many.forward(Pass(mx.array([ids[20:24]]), Length(mx.array([20], mx.int32), 18, 22)))
    assert mx.array_equal(mx.stack(rows), lazy.logits[0])


def test_a_draft_model_keeps_in_step_through_any_run_of_plain_rounds(monkeypatch):
    """The target drafts for itself: one token out of step and it would not accept everything."""
    target, ids = tiny_llama(0), prompt(9, 1)
    engine = engine_of(target, target, context_limit=2048)
    lengths = iter([3, 0, 0, 2, 0, 5, 1, 1, 0, 0, 0, 4] * 20)
    monkeypatch.setattr(
        Fixed,
        "choose",
        lambda self, candidates, length: (candidates[0], k) if (k := next(lengths)) else (NO_CANDIDATE, 0),
    )
    rounds = list(engine.generate(ids, Options(max_tokens=TOKENS, drafter="model", draft_length=3)))
    assert [t for r in rounds for t in r.tokens] == reference(target, ids)
    assert engine.stats(rounds).acceptance_rate == 1
    assert {len(r.drafted) for r in rounds} >= {0, 1, 2, 3, 4, 5}
