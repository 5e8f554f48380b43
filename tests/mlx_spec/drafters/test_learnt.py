"""Trained drafters draft what they should, whatever was accepted, and change no text."""

from dataclasses import replace

import numpy as np
import pytest

from mlx_spec import Options, UnsupportedModel
from mlx_spec.drafters.dflash_head import DFlashHead
from mlx_spec.drafters.eagle_head import EagleHead
from mlx_spec.drafters.medusa_head import MedusaHead, MedusaShape
from mlx_spec.drafters.pard import PardDrafter
from tests.mlx_spec.dflash_heads import SHAPE
from tests.mlx_spec.drafters.learnt import DEPTH, LEARNT, LENGTH, MUTANTS, PROMPT, SEED
from tests.mlx_spec.grid import grid
from tests.mlx_spec.heads import KNOWN, Uneven, head_for, target
from tests.mlx_spec.proposals import Proposed, proposed
from tests.mlx_spec.tiny_models import VOCAB, prompt, ragged, text, tiny_llama, together, tokens

FAMILIES = ("eagle", "medusa", "pard", "assistant", "dflash")
"""`dflash2` and `dspark`, of the same class as `dflash`, are slow tests. In `models/load`, `test_dflash.py`
tests their equations, `test_gemma_dspark.py` turns, batches and a head that is read wrongly."""
ROOM = {"medusa": 4, "peagle": 3, "dflash": 4, "dflash2": 4, "dspark": 5}
"""Tokens that may be drafted at once."""
FLOOR = (0.6, 0.6, 0.4)
"""The least share of drafts that are accepted up to each position."""


@pytest.mark.parametrize(
    ("name", "length"),
    grid(LEARNT, (1, 3, 7), usual=[*((name, 3) for name in FAMILIES), ("medusa", 7), ("pard", 7)]),
)
def test_its_drafts_are_those_of_its_equations_after_any_acceptance_and_the_text_is_the_plain_one(
    name, length
):
    learnt, count = LEARNT[name], 2 * LENGTH
    engine = learnt.engine()
    rounds = proposed(engine, PROMPT, name, max_tokens=count, draft_length=length)
    written = [*rounds[-1].before, *rounds[-1].read.tokens][len(PROMPT) :]
    assert written == text(engine, PROMPT, drafter="none", max_tokens=count)[: len(written)]
    assert len(written) >= count - length - 1
    assert max(len(one.read.drafted) for one in rounds) == min(length, ROOM.get(name, 7))
    assert len({one.read.accepted for one in rounds}) >= min(length + 1, 3), "different acceptances"
    assert all(map(learnt.is_right, rounds))


@pytest.mark.parametrize("name", grid(LEARNT, usual=[(name,) for name in FAMILIES]))
def test_mutants_draft_something_else_and_are_accepted_less_often(name):
    learnt = LEARNT[name]
    known = learnt.known()
    honest = rate(known)
    reached = [np.mean([one.read.accepted > place for one in known]) for place in range(DEPTH)]
    assert honest > 0.5 and (np.array(reached) > FLOOR).all(), "it did not learn its texts"
    for broken in MUTANTS[name]:
        rounds = learnt.known(broken(learnt.kind))
        assert not all(map(learnt.is_right, rounds)) and rate(rounds) < 0.85 * honest, broken


def rate(rounds: list[Proposed]) -> float:
    """The share of a draft that is accepted."""
    return float(np.mean([one.read.accepted / len(one.read.drafted) for one in rounds]))


@pytest.mark.parametrize(
    ("name", "length"),
    grid(LEARNT, (1, 3, 7), usual=[("medusa", 3), ("assistant", 3), ("eagle", 7), ("dflash", 1)]),
)
def test_the_text_drawn_with_a_seed_is_that_of_plain_decoding(name, length):
    engine = LEARNT[name].engine()
    options = {"max_tokens": 24, "temperature": 0.8, "seed": SEED}
    drafted = list(engine.generate(PROMPT, Options(drafter=name, draft_length=length, **options)))
    assert tokens(drafted) == text(engine, PROMPT, drafter="none", **options)
    assert any(r.accepted for r in drafted) and any(r.accepted < len(r.drafted) for r in drafted)


@pytest.mark.parametrize(
    ("name", "rule"),
    grid(
        LEARNT,
        ("token", "block"),
        usual=[(name, ("token", "block")[i % 2]) for i, name in enumerate(FAMILIES)],
    ),
)
def test_it_drafts_under_the_other_rules_too(name, rule):
    options = Options(max_tokens=8, temperature=0.8, verify=rule, drafter=name, draft_length=3)
    rounds = list(LEARNT[name].engine().generate(PROMPT, options))
    assert len(tokens(rounds)) == 8 and any(r.drafted for r in rounds)


@pytest.mark.parametrize("name", grid(LEARNT, usual=[(name,) for name in FAMILIES]))
def test_a_second_turn_goes_on_with_what_was_read(name):
    learnt = LEARNT[name]
    engine = learnt.engine()
    first = text(engine, PROMPT, max_tokens=12, drafter=name, draft_length=3)
    for longer in (PROMPT + first[:8] + prompt(7, 3), PROMPT[:5]):
        assert learnt.all_right(engine, longer, max_tokens=12, draft_length=3)


@pytest.mark.parametrize("length", [9, 70])
@pytest.mark.parametrize("name", grid(LEARNT, usual=[("eagle",), ("dflash",)]))
def test_of_a_text_whose_first_token_was_changed_nothing_is_taken_as_read(name, length):
    learnt, (first, *rest) = LEARNT[name], prompt(length, 1)
    engine = learnt.engine()
    text(engine, [first, *rest], max_tokens=6, drafter=name, draft_length=3)
    assert learnt.all_right(engine, [first - 1, *rest], max_tokens=8, draft_length=3)


@pytest.mark.parametrize("name", grid(LEARNT, usual=[("eagle",), ("dflash",)]))
def test_what_rounds_wrote_at_a_free_place_is_not_taken_for_the_text_that_was_there(name):
    learnt, long = LEARNT[name], prompt(40, 3)
    engine, options = learnt.engine(), Options(max_tokens=12, drafter=name, draft_length=3)
    others = [prompt(9, seed) for seed in (4, 5, 6)]  # they go on beside the free place
    together(engine, [long, *others], [replace(options, max_tokens=2), *[options] * 3])
    text(engine, long, max_tokens=2, drafter="none")  # read without it
    assert learnt.all_right(engine, long, max_tokens=12, draft_length=3)


@pytest.mark.parametrize("name", grid(LEARNT, usual=[(name,) for name in FAMILIES]))
def test_after_rounds_of_others_it_reads_what_it_missed(name):
    learnt = LEARNT[name]
    engine = learnt.engine()
    engine.controller = Uneven([0])  # type: ignore[assignment]
    for ids in prompt(4, 5), PROMPT * 8, PROMPT:  # other answers, whose rounds are not its
        text(engine, ids, max_tokens=9, drafter=name, temperature=2.0)
    engine.controller = Uneven([0, 0, 0, 2, 4, 0, 0, 1, 0, 3])  # type: ignore[assignment]
    assert learnt.all_right(engine, max_tokens=24)


@pytest.mark.parametrize("name", grid(LEARNT, usual=[(name,) for name in FAMILIES]))
def test_three_ragged_texts_are_those_of_single_runs(name):
    assert ragged(LEARNT[name].engine(), name) > 5, "the batch does not spoil its drafts"


@pytest.mark.parametrize("name", grid(LEARNT, usual=[("eagle",), ("dflash",)]))
def test_three_texts_that_begin_with_one_token_are_those_of_single_runs(name):
    """The fourth place is free: it stays as short as they were."""
    engine, drafted = LEARNT[name].engine(), Options(max_tokens=12, drafter=name, draft_length=3)
    found = together(engine, [[3], [4], [5]], [drafted] * 3)
    for ids, rounds in zip(([3], [4], [5]), found, strict=True):
        assert tokens(rounds) == text(engine, ids, max_tokens=12, drafter="none")
        assert any(r.drafted for r in rounds)


@pytest.mark.parametrize("name", grid(LEARNT, usual=[("eagle",), ("dflash",)]))
def test_texts_that_differ_in_the_first_token_only_share_nothing_that_was_read(name):
    learnt, options = LEARNT[name], Options(max_tokens=8, drafter=name, draft_length=3)
    first, *rest = prompt(70, 1)
    prompts = [[first, *rest], [first - 1, *rest]]
    for ids, rounds in zip(prompts, together(learnt.engine(), prompts, [options] * 2), strict=True):
        wanted = learnt.engine().generate(ids, options)
        assert [read.drafted for read in rounds] == [read.drafted for read in wanted]


WIDE = replace(SHAPE, args=replace(SHAPE.args, hidden_size=48))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EagleHead(replace(head_for(target()).shape, target_hidden=48), target()),
         "48 numbers.*and 32"),
        (lambda: DFlashHead(WIDE, target()), "120 tokens and 48 numbers.*has 120 and 32"),
        (lambda: DFlashHead(replace(SHAPE, mask=VOCAB), target()), "mask is token 120.*target has 120"),
        (lambda: MedusaHead(MedusaShape(4, 1, 48, 120, KNOWN), target()),
         "120 tokens and 48.*has 120 and 32"),
        (lambda: MedusaHead(MedusaShape(4, 1, 32, 99, KNOWN), target()), "99 tokens and 32.*has 120 and 32"),
        (lambda: PardDrafter(tiny_llama(7, layers=1), VOCAB), "mask is token 120, and it has 120 tokens"),
    ],
)  # fmt: skip
def test_a_head_for_another_target_is_refused_by_its_sizes(make, message):
    with pytest.raises(UnsupportedModel, match=message):
        make()
