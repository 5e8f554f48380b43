"""Copies from the text, mixed into a head's guesses."""

import random

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options
from mlx_spec.arrays import Length
from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.verify import copies as module
from mlx_spec.verify.batch import BatchVerifier
from mlx_spec.verify.copies import MATCH, RIGHT, Copying, copies, mixed
from mlx_spec.verify.verifiers import Verifier
from tests.mlx_spec.heads import KNOWN, head_for, target
from tests.mlx_spec.tiny_models import prompt, text, tokens

TEXTS = [random.Random(length).choices(range(4), k=length) for length in (4, 17, 40)]
END = [3, 1, 2]
TOKENS = mx.array([(each + END * 30)[:94] for each in TEXTS])
"""Behind each text lie matches that do not count."""


def by_hand(known: list[int], end: list[int]) -> tuple[int, float]:
    """(what followed the longest, then latest occurrence of the end, how often that is right)."""
    sizes = [
        next(n for n in range(MATCH, -1, -1) if n <= i and known[i - n : i] == end[MATCH - n :])
        for i in range(len(known))
    ]
    best = max(range(len(known)), key=lambda i: (sizes[i], i))
    return known[best], RIGHT[sizes[best]]


def test_a_copy_is_what_followed_the_longest_and_then_latest_occurrence():
    ends = [[[a, b, c] for a in range(3) for b in range(3) for c in (0, 1, 2, 9)]] * len(TEXTS)
    lengths = mx.array([len(each) for each in TEXTS])
    found, right = (array.tolist() for array in copies(TOKENS, lengths, mx.array(ends)))
    for i, known in enumerate(TEXTS):
        for j, end in enumerate(ends[i]):
            copied, likely = by_hand(known, end)
            assert right[i][j] == pytest.approx(likely)  # type: ignore[index]
            assert not likely or found[i][j] == copied  # type: ignore[index]
    assert len({each for row in right for each in row}) == len(RIGHT), "of every length"  # type: ignore[union-attr]


def test_a_copied_token_is_as_much_likelier_as_copies_are_right_also_one_that_the_head_never_guesses():
    logits = mx.log(mx.array([[[0.5, 0.3, 0.2, 0.0]] * 4])) + 3.0
    changed = mx.exp(mixed(logits, mx.array([[1, 3, 2, 7]]), mx.array([[0.5, 0.2, 0.0, 0.7]])) - 3.0)[0]
    wanted = [[0.5, 0.8, 0.2, 0.0], [0.5, 0.3, 0.2, 0.2], [0.5, 0.3, 0.2, 0.0], [0.5, 0.3, 0.2, 0.0]]
    assert mx.allclose(changed, mx.array(wanted), atol=1e-5).item()


def test_a_head_proposes_for_each_position_what_its_shadow_draft_guesses_there():
    known = [0, 1, 2, 3, 0, 1, 2, 0, 1]
    ids, length = mx.array([known]), Length.exact(len(known))
    now, then = (
        Copying(BatchVerifier([Verifier(Options(), 4)], ids, at, 4), ids, at)
        for at in (length, length.plus(-3))
    )
    flat, latest = mx.zeros((1, 3, 4)), ids[:, -3:]
    guessed: list[list[int]] = now.guesses(flat, latest).tolist()  # type: ignore[assignment]
    proposed = [then.propose(flat[:, i], i, latest[:, :i])[0].item() for i in range(3)]
    assert guessed == [proposed] == [[2, 3, 1]]


def test_a_text_that_repeats_itself_is_drafted_by_a_head_that_knows_nothing(monkeypatch):
    engine = Engine(target(), [EagleDrafter(head_for(target(), tokens=KNOWN))], context_limit=400)
    ids = prompt(5, 3) * 8
    plain = text(engine, ids, max_tokens=24, drafter="none")

    def accepted() -> int:
        engine.forget()
        rounds = list(engine.generate(ids, Options(max_tokens=24, drafter="eagle", draft_length=3)))
        assert tokens(rounds) == plain
        return sum(each.accepted for each in rounds)

    copied = accepted()
    monkeypatch.setattr(module, "mixed", lambda logits, *_: logits)
    assert copied > 2 * accepted()


def test_a_text_of_one_token_is_drafted_too():
    engine = Engine(target(), [EagleDrafter(head_for(target()))], context_limit=400)
    assert text(engine, [1], max_tokens=9, drafter="eagle", draft_length=3) == text(
        engine, [1], max_tokens=9, drafter="none"
    )
