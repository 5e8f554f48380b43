"""Lookahead drafts earlier guesses of the target, at every size of window and pool, and changes no text."""

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options
from mlx_spec.arrays import Length
from mlx_spec.drafters.lookahead import LookaheadDrafter
from mlx_spec.drafters.recycling import RecyclingDrafter
from mlx_spec.verify import batch as verify_batch
from tests.mlx_spec.architectures import tiny_sliding_llama
from tests.mlx_spec.grid import grid
from tests.mlx_spec.model_types import build
from tests.mlx_spec.proposals import Written, draft_after
from tests.mlx_spec.tiny_models import VOCAB, prompt, ragged, reference, settled, text, tiny_llama, tokens

SIZES = [(4, 3, 3), (1, 2, 1), (3, 2, 2), (5, 4, 2), (2, 5, 1)]
"""Window, n-gram, guesses."""


def repeating():
    """A model whose texts repeat themselves."""
    return settled(tiny_llama(0), 0, spread=0.7)


@pytest.mark.parametrize(
    ("size", "temperature"), grid(SIZES, (0.0, 0.8), usual=[(SIZES[0], 0.0), (SIZES[1], 0.8)])
)
def test_text_is_the_plain_one_at_every_depth_and_guesses_are_accepted(size, temperature):
    target, accepted = repeating(), 0
    engine = Engine(target, [LookaheadDrafter(*size)], context_limit=400)
    for seed, length in ((1, 31), (4, 3), (3, None)):
        ids, options = prompt(6, seed), {"max_tokens": 30, "temperature": temperature, "seed": seed}
        rounds = list(engine.generate(ids, Options(drafter="lookahead", draft_length=length, **options)))
        assert tokens(rounds) == text(Engine(target, context_limit=400), ids, **options)
        assert all(r.accepted <= r.draft_length <= (length or 31) for r in rounds)
        accepted += sum(r.accepted for r in rounds)
    assert accepted > (0 if temperature else 20)


def test_whatever_the_pool_and_the_window_hold_the_text_is_the_same():
    target, ids = tiny_sliding_llama(0), prompt(40, 1)
    options = {"max_tokens": 20, "temperature": 0.8, "seed": 3}
    wanted, drafter = text(Engine(target, context_limit=400), ids, **options), LookaheadDrafter()
    engine = Engine(target, [drafter], context_limit=400)
    for seed in range(2):
        keys = mx.random.split(mx.random.key(seed))
        drafter._known = mx.random.randint(-5, 2 * VOCAB, (VOCAB, 3, 2), key=keys[0])
        drafter._turn = mx.random.randint(0, 3, (VOCAB,), key=keys[1])
        assert text(engine, ids, drafter="lookahead", draft_length=31, **options) == wanted


def test_texts_that_share_the_pool_are_those_of_single_runs():
    ragged(Engine(repeating(), [LookaheadDrafter()], context_limit=200), "lookahead", 31)


def test_a_column_of_the_window_becomes_an_n_gram_of_its_first_token():
    target, ids = repeating(), prompt(12, 1)
    drafter = LookaheadDrafter(window=2, ngram=3, guesses=1)
    engine = Engine(target, [drafter], context_limit=200)
    engine.drafts_in_flight = False
    answer = engine.generate(ids, Options(max_tokens=9, drafter="lookahead", draft_length=31))
    first = next(answer).tokens
    next(answer)
    # The second round's window: its cell (0, 0) is the text's last token, the others the prompt's last.
    columns = {first[0]: ids[-2], ids[-3]: ids[-1]}
    for begins, guess in columns.items():
        path = [*ids, *dict.fromkeys((first[0], begins)), guess]
        assert draft_after(drafter, [begins], 2)[:2] == [guess, *reference(target, path, 1)]


def test_of_n_grams_with_one_first_token_in_a_pass_the_last_is_stored_everywhere():
    drafter = LookaheadDrafter(ngram=3)
    drafter._known, drafter._turn = Written(mx.zeros((9, 3, 2), mx.int32)), Written(mx.zeros((9,), mx.int32))  # type: ignore[assignment]
    drafter._keep(mx.array([[5, 1, 2], [4, 1, 2], [5, 0, 4], [5, 3, 4]]))
    assert drafter._known.once() == {(5, 0): [3, 4], (4, 0): [1, 2]}  # type: ignore[union-attr]
    assert drafter._turn.once() == {(5,): 1, (4,): 1}  # type: ignore[attr-defined]


def test_auto_leaves_to_others_what_drafts_by_name_only():
    engine, ids = (
        Engine(repeating(), [LookaheadDrafter(), RecyclingDrafter()], context_limit=200),
        prompt(6, 1),
    )
    drafted = {
        name: {r.drafter for r in engine.generate(ids, Options(max_tokens=30, drafter=name, draft_length=3))}
        for name in ("auto", "lookahead")
    }
    assert drafted == {"auto": {"none", "recycling"}, "lookahead": {"none", "lookahead"}}


def test_if_the_target_reads_no_trees_it_has_no_candidate_and_the_text_is_written():
    target, ids, drafter = build("qwen3_next"), prompt(9, 1), LookaheadDrafter()
    engine = Engine(target, [drafter], context_limit=200)
    rounds = list(engine.generate(ids, Options(max_tokens=20, drafter="lookahead", draft_length=4)))
    assert tokens(rounds) == reference(target, ids, 20)
    assert not any(r.drafted for r in rounds) and not drafter.candidates(Length.exact(29))


def test_a_walk_that_takes_any_guess_is_caught(monkeypatch):
    target, ids = tiny_llama(0), prompt(20, 1)
    engine, wanted = Engine(target, [LookaheadDrafter()], context_limit=200), reference(target, ids, 30)

    def gullible(own, drafted, parents, depth):
        return mx.array(depth), mx.arange(depth + 1)

    monkeypatch.setattr(verify_batch, "walk", gullible)
    assert text(engine, ids, max_tokens=30, drafter="lookahead", draft_length=31) != wanted


def test_a_drafter_that_forgot_an_answer_drafts_no_more_of_it_than_the_first_time():
    engine = Engine(repeating(), [LookaheadDrafter()], context_limit=200)

    def accepted() -> int:
        options = Options(max_tokens=30, drafter="lookahead", draft_length=5)
        return sum(each.accepted for each in engine.generate(prompt(6, 1), options))

    first, again = accepted(), accepted()
    engine.forget()
    assert again > first and accepted() == first
