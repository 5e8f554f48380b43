"""Training runs the head as drafting does: every step's rows are those of a draft that begins there."""

import mlx.core as mx
import pytest

from mlx_spec.training import unroll
from tests.mlx_spec.heads import head_for, shuffled, states_of, target

TEXT = shuffled(1, 14)


def drafted_rows(head, begin: int, steps: int) -> list[mx.array]:
    """Guesses of a draft that begins after row `begin`, the text's own tokens drafted: without a cache."""
    hidden, ids, found = head.features(states_of(TEXT))[:, : begin + 1], TEXT[1 : begin + 2], []
    for s in range(steps):
        states = head(mx.array([ids]), hidden=hidden)
        found.append(head.guesses(states[:, -1:])[0, 0])
        hidden, ids = mx.concatenate([hidden, states[:, -1:]], axis=1), [*ids, TEXT[begin + 2 + s]]
    return found


@pytest.mark.parametrize("begin", [0, 4, 9])
def test_each_step_is_what_drafting_computes(begin):
    head, steps = head_for(target()), 3
    wanted = drafted_rows(head, begin, steps)
    states = mx.concatenate(states_of(TEXT), axis=-1)
    found = unroll.unrolled(head, mx.array([TEXT]), states, steps)
    for s in range(steps):
        assert mx.allclose(found[s][0, begin], wanted[s], rtol=1e-4, atol=1e-5), s
    # A head that attends to later drafts' rows, or to none of its own, is another function.
    assert not mx.allclose(found[1][0, begin + 1], wanted[1], rtol=1e-2, atol=1e-2)


def test_acceptance_counts_drafts_by_how_far_they_are_right():
    own = mx.array([[1, 2, 3, 4, 5, 6]])
    sure = lambda tokens: mx.where(mx.arange(9)[None] == mx.array(tokens)[:, None], 9.0, 0.0)[None]  # noqa: E731
    # Row t of step s should guess own[t + 1 + s]: the second step is wrong at row 1.
    guesses = [sure([2, 3, 4, 5, 6, 0]), sure([3, 8, 5, 6, 0, 0])]
    everything = mx.ones((1, 6), mx.bool_)
    assert unroll.accepted(guesses, own, everything) == ([4, 3], 4)
    some = mx.array([[True, True, True, False, True, True]])
    assert unroll.accepted(guesses, own, some) == ([2, 2], 2)


def test_the_loss_is_least_for_the_targets_own_distribution():
    labels = mx.array([[[0, 1]] * 4])
    probs = mx.array([[[0.75, 0.25]] * 4])
    counted = mx.ones((1, 4), mx.bool_)

    def loss(p: float) -> float:
        rows = mx.broadcast_to(mx.log(mx.array([p, 1 - p])), (1, 4, 2))
        return float(unroll.loss([rows, rows], labels, probs, counted))

    assert loss(0.75) < min(loss(0.7), loss(0.8))
