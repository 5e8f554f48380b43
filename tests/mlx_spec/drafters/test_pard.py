"""A draft model that guesses all its tokens in one pass: what it drafts, whatever was accepted before.

Its drafts are held against whole passes of a second llama (`equations.py`) over the text and the masks.
"""

from functools import cache
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optimizers
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.drafters.pard import PardDrafter
from tests.mlx_spec.equations import Sizes, Weights, arrays, llama
from tests.mlx_spec.heads import Uneven
from tests.mlx_spec.proposals import Proposed, proposed
from tests.mlx_spec.tiny_models import VOCAB, prompt, text, tiny_llama, tokens

PROMPT, MASK, DEPTH, LENGTH = prompt(9, 1), VOCAB - 1, 3, 32
SIZES = Sizes(heads=4, kv_heads=2)


@cache
def target() -> nn.Module:
    return tiny_llama(0)


@pytest.fixture(scope="module")
def draft() -> nn.Module:
    """It knows what the target writes after the prompt at two temperatures, several tokens ahead."""
    plain = Engine(target(), context_limit=400)
    texts = [PROMPT + text(plain, PROMPT, max_tokens=LENGTH, temperature=t, seed=2) for t in (0.0, 0.8)]
    rows, wanted, guessing = [], [], []
    for whole in texts:
        for end in range(len(PROMPT), len(whole) - DEPTH):
            rows.append(whole[:end] + [MASK] * (len(whole) - end))
            wanted.append(whole[end : end + DEPTH])
            guessing.append(list(range(end - 1, end - 1 + DEPTH)))
    ids, labels, places = mx.array(rows), mx.array(wanted), mx.array(guessing)
    model: Any = tiny_llama(7, layers=1)

    def loss() -> mx.array:
        logits = mx.take_along_axis(model(ids), places[:, :, None], axis=1)
        return nn.losses.cross_entropy(logits, labels, reduction="mean")

    optimizer, gradient = optimizers.Adam(8e-3), nn.value_and_grad(model, loss)
    for _ in range(60):
        optimizer.update(model, gradient()[1])
        mx.eval(model.parameters(), optimizer.state)
    return model


@pytest.fixture(scope="module")
def by_hand(draft: nn.Module) -> Weights:
    return arrays(dict(tree_flatten(draft.parameters())))  # type: ignore[arg-type]


def engine_with(draft: nn.Module, kind: type[PardDrafter] = PardDrafter) -> Engine:
    return Engine(target(), [kind(draft, MASK)], context_limit=400)


def is_right(w: Weights, one: Proposed) -> bool:
    depth = len(one.read.drafted)
    logits = llama(w, one.before + [MASK] * (depth - 1), 1, SIZES)[-depth:]
    close = np.abs(one.logits - logits).max() < 1e-4 * np.abs(logits).max()
    return bool(close) and list(one.read.drafted) == logits.argmax(axis=-1).tolist()


@pytest.mark.parametrize("length", [1, 2, 5, 12])
def test_its_drafts_are_those_of_a_whole_pass_over_text_and_masks(draft, by_hand, length):
    rounds = proposed(engine_with(draft), PROMPT, "pard", max_tokens=60, draft_length=length)
    assert len({one.read.accepted for one in rounds}) >= min(length, 3), "rejections at several depths"
    assert all(is_right(by_hand, one) for one in rounds) and len(rounds) >= 3


class KeepsMasks(PardDrafter):
    """Takes the rows of masks for those of the tokens that came to stand there."""

    reads_again = False
    left = 1


class LateRows(PardDrafter):
    """Guesses each token by the row after its own."""

    def _logits(self, output, rows):
        return mx.roll(output.logits[:, rows], -1, 1)


@pytest.mark.parametrize("broken", [KeepsMasks, LateRows])
def test_a_broken_drafter_is_seen(draft, by_hand, broken):
    rounds = proposed(engine_with(draft, broken), PROMPT, "pard", max_tokens=LENGTH, draft_length=3)
    assert not all(is_right(by_hand, one) for one in rounds)


def test_it_is_accepted_as_often_as_it_was_trained_to_be(draft):
    """By position, on the texts that it knows; a drafter that is fed wrongly falls below."""

    def rates(kind: type[PardDrafter]) -> list[float]:
        rounds = proposed(engine_with(draft, kind), PROMPT, "pard", max_tokens=LENGTH, draft_length=DEPTH)
        return [np.mean([one.read.accepted > i for one in rounds]) for i in range(DEPTH)]  # type: ignore[misc]

    floor = (0.8, 0.6, 0.5)
    assert all(rate >= least for rate, least in zip(rates(PardDrafter), floor, strict=True))
    assert rates(LateRows)[0] < floor[0] and rates(KeepsMasks)[2] < floor[2]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize("length", [1, 4, 12])
def test_the_text_is_that_of_plain_decoding(draft, temperature, length):
    engine = engine_with(draft)
    options = {"max_tokens": 60, "temperature": temperature, "seed": 2}
    drafted = list(engine.generate(PROMPT, Options(drafter="pard", draft_length=length, **options)))
    assert tokens(drafted) == text(engine, PROMPT, drafter="none", **options)
    assert any(r.accepted for r in drafted) and any(r.accepted < len(r.drafted) for r in drafted)


@pytest.mark.parametrize("rule", ["token", "block"])
def test_it_drafts_under_the_other_rules_too(draft, rule):
    options = Options(max_tokens=40, temperature=0.8, verify=rule, drafter="pard", draft_length=3)
    assert len(tokens(engine_with(draft).generate(PROMPT, options))) == 40


def test_a_second_turn_goes_on_with_what_was_read(draft, by_hand):
    engine = engine_with(draft)
    first = text(engine, PROMPT, max_tokens=20, drafter="pard", draft_length=3)
    for longer in (PROMPT + first[:12] + prompt(7, 3), PROMPT[:5]):
        rounds = proposed(engine, longer, "pard", max_tokens=30, draft_length=3)
        assert rounds and all(is_right(by_hand, one) for one in rounds)


def test_after_rounds_of_others_it_reads_what_it_missed(draft, by_hand):
    engine = engine_with(draft)
    engine.controller = Uneven([0, 0, 0, 2, 5, 0, 0, 1, 0, 3])  # type: ignore[assignment]
    assert all(is_right(by_hand, one) for one in proposed(engine, PROMPT, "pard", max_tokens=60))


def test_three_ragged_texts_are_as_single_ones(draft):
    engine = engine_with(draft)
    prompts = [prompt(9, 1), prompt(20, 2), prompt(4, 3)]
    options = [
        Options(max_tokens=n, drafter="pard", draft_length=3, seed=n, temperature=t)
        for n, t in ((30, 0.0), (12, 0.8), (40, 0.8))
    ]
    found: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for i, read in engine.generate_batch(prompts, options):
        found[i] += read.tokens
    for i, (ids, each) in enumerate(zip(prompts, options, strict=True)):
        alone = {"max_tokens": each.max_tokens, "temperature": each.temperature, "seed": each.seed}
        assert found[i] == text(engine, ids, drafter="none", **alone)


def test_a_mask_that_is_no_token_is_refused():
    with pytest.raises(UnsupportedModel, match="mask is token 120, and it has 120 tokens"):
        PardDrafter(tiny_llama(7, layers=1), VOCAB)
