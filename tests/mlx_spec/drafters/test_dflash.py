"""A head that drafts a block in one pass: what it drafts, whatever was accepted before, by its equations."""

from functools import cache

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.drafters.dflash import DFlashDrafter
from mlx_spec.drafters.dflash_head import DFlashHead, DFlashShape
from tests.mlx_spec.dflash_heads import BLOCK, DSPARK, SECOND, SHAPE, SIZES, by_hand, replace, trained
from tests.mlx_spec.equations import Weights, arrays, states
from tests.mlx_spec.grid import grid
from tests.mlx_spec.heads import Uneven, target
from tests.mlx_spec.proposals import Proposed, proposed
from tests.mlx_spec.tiny_models import VOCAB, prompt, text, tokens

PROMPT, LENGTH = prompt(9, 1), 32
KINDS = {"dflash": SHAPE, "dflash2": SECOND, "dspark": DSPARK}


@cache
def head(kind: str) -> DFlashHead:
    """It knows what the target writes after the prompt at two temperatures."""
    plain = Engine(target(), context_limit=400)
    texts = [PROMPT + text(plain, PROMPT, max_tokens=LENGTH, temperature=t, seed=2) for t in (0.0, 0.8)]
    return trained(KINDS[kind], texts, len(PROMPT))


@cache
def of_target() -> Weights:
    return arrays(dict(tree_flatten(target().parameters())))  # type: ignore[arg-type]


def engine_with(kind: str, drafter: type[DFlashDrafter] = DFlashDrafter) -> Engine:
    return Engine(target(), [drafter(head(kind), kind)], context_limit=400)


def is_right(kind: str, one: Proposed) -> bool:
    found = states(of_target(), one.before[:-1], 4, SIZES)
    logits, drafted = by_hand(head(kind)).draft(found[1:4], one.before, len(one.read.drafted))
    there = np.isfinite(logits)
    if (np.isfinite(one.logits) != there).any():
        return False
    off = np.abs(one.logits[there] - logits[there]).max() / np.abs(logits[there]).max()
    return off < 1e-4 and list(one.read.drafted) == drafted


@pytest.mark.parametrize(
    ("kind", "length"),
    grid(tuple(KINDS), (1, 3, 9), usual=[("dflash", 1), ("dflash", 9), ("dflash2", 3), ("dspark", 3)]),
)
def test_its_drafts_are_those_of_its_equations_after_any_acceptance(kind, length):
    rounds = proposed(engine_with(kind), PROMPT, kind, max_tokens=60, draft_length=length)
    assert max(len(one.read.drafted) for one in rounds) == min(length, KINDS[kind].room)
    assert len({one.read.accepted for one in rounds}) >= min(length + 1, 2), "rejections and acceptances"
    assert all(is_right(kind, one) for one in rounds)


class LateFeatures(DFlashDrafter):
    """Reads what the target made of the token before."""

    def _first(self, context):
        features, self._features = self._features, mx.pad(self._features, [(0, 0), (1, 0), (0, 0)])
        p = super()._first(context)
        self._features = features
        return p


class KeepsTheBlock(DFlashDrafter):
    """Takes the rows of a block for those of the text that came to stand there."""

    reads_again = False
    left = 1


class OtherAnchor(DFlashDrafter):
    """Takes each row for the one before it, as heads of the other kind would be read."""

    def _logits(self, output, rows):
        return mx.roll(super()._logits(output, rows), -1, 1)


BROKEN = (LateFeatures, KeepsTheBlock, OtherAnchor)


@pytest.mark.parametrize(
    ("kind", "broken"), grid(tuple(KINDS), BROKEN, usual=list(zip(KINDS, BROKEN, strict=True)))
)
def test_a_head_that_is_fed_or_read_wrongly_is_seen(kind, broken):
    rounds = proposed(engine_with(kind, broken), PROMPT, kind, max_tokens=48, draft_length=3)
    assert not all(is_right(kind, one) for one in rounds)


def rates(kind: str, drafter: type[DFlashDrafter] = DFlashDrafter) -> list[float]:
    rounds = proposed(engine_with(kind, drafter), PROMPT, kind, max_tokens=LENGTH, draft_length=4)
    return [float(np.mean([one.read.accepted > i for one in rounds])) for i in range(4)]


FLOORS = {
    "dflash": (0.75, 0.7, 0.6, 0.6),
    "dflash2": (0.55, 0.5, 0.45, 0.2),
    "dspark": (0.75, 0.7, 0.6, 0.6),
}
"""By place."""


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_accepted_as_often_as_it_was_trained_to_be(kind):
    assert all(rate >= least for rate, least in zip(rates(kind), FLOORS[kind], strict=True))
    for broken in (LateFeatures, OtherAnchor):
        assert any(rate < least for rate, least in zip(rates(kind, broken), FLOORS[kind], strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_the_text_is_that_of_plain_decoding(kind, temperature):
    engine = engine_with(kind)
    options = {"max_tokens": 60, "temperature": temperature, "seed": 2}
    wanted = text(engine, PROMPT, drafter="none", **options)
    for length in (1, 3, 5):
        rounds = list(engine.generate(PROMPT, Options(drafter=kind, draft_length=length, **options)))
        assert tokens(rounds) == wanted
        assert any(r.accepted for r in rounds) and any(r.accepted < len(r.drafted) for r in rounds)


@pytest.mark.parametrize(
    ("kind", "rule"),
    grid(tuple(KINDS), ("token", "block"), usual=[("dspark", "token"), ("dflash", "block")]),
)
def test_it_drafts_under_the_other_rules_too(kind, rule):
    options = Options(max_tokens=40, temperature=0.8, verify=rule, drafter=kind, draft_length=3)
    assert len(tokens(engine_with(kind).generate(PROMPT, options))) == 40


@pytest.mark.parametrize("kind", grid(tuple(KINDS), usual=[("dspark",)]))
def test_a_second_turn_goes_on_with_what_was_read(kind):
    engine = engine_with(kind)
    first = text(engine, PROMPT, max_tokens=20, drafter=kind, draft_length=3)
    for longer in (PROMPT + first[:12] + prompt(7, 3), PROMPT[:5]):
        rounds = proposed(engine, longer, kind, max_tokens=20, draft_length=3)
        assert rounds and all(is_right(kind, one) for one in rounds)


@pytest.mark.parametrize("kind", grid(tuple(KINDS), usual=[("dflash2",)]))
def test_after_rounds_of_others_it_reads_what_it_missed(kind):
    engine = engine_with(kind)
    engine.controller = Uneven([0, 0, 0, 2, 4, 0, 0, 1, 0, 3])  # type: ignore[assignment]
    assert all(is_right(kind, one) for one in proposed(engine, PROMPT, kind, max_tokens=60))


@pytest.mark.parametrize("kind", grid(tuple(KINDS), usual=[("dflash",)]))
def test_three_ragged_texts_are_as_single_ones(kind):
    engine = engine_with(kind)
    prompts = [PROMPT, prompt(20, 2), prompt(4, 3)]
    options = [
        Options(max_tokens=n, drafter=kind, draft_length=3, seed=n, temperature=t)
        for n, t in ((30, 0.0), (12, 0.8), (40, 0.8))
    ]
    found: dict[int, list[int]] = {0: [], 1: [], 2: []}
    accepted = 0
    for i, read in engine.generate_batch(prompts, options):
        found[i] += read.tokens
        accepted += read.accepted if i == 0 else 0
    assert accepted > 10, "the batch does not spoil its drafts"
    for i, (ids, each) in enumerate(zip(prompts, options, strict=True)):
        alone = {"max_tokens": each.max_tokens, "temperature": each.temperature, "seed": each.seed}
        assert found[i] == text(engine, ids, drafter="none", **alone)


def test_a_head_of_another_target_is_refused_by_name():
    wide = replace(SHAPE.args, hidden_size=48)
    with pytest.raises(UnsupportedModel, match="120 tokens and 48 numbers.*has 120 and 32"):
        DFlashHead(replace(SHAPE, args=wide), target())
    with pytest.raises(UnsupportedModel, match="mask is token 120, and the target has 120"):
        DFlashHead(replace(SHAPE, mask=VOCAB), target())
    assert DFlashShape.room.fget(SHAPE) == BLOCK - 1  # type: ignore[attr-defined]
