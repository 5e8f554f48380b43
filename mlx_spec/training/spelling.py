"""Texts of the target in the smaller tokens of a draft model, for the model to learn from."""

from collections.abc import Sequence
from itertools import chain

import mlx.core as mx

from mlx_spec.training.study import Study, Text


def spelled(text: Text, spelling: Sequence[Sequence[int]]) -> Study:
    """A text whose next tokens are those that follow in it: the target is not run.

    Args:
        spelling: the draft model's tokens for each of the target's.
    """
    words = [spelling[token] for token in text.tokens]
    ids = mx.array(list(chain.from_iterable(words)), mx.int32)
    count, begin = max(0, len(ids) - 1), sum(map(len, words[: text.begin]))
    return Study(
        tokens=ids[:count],
        states=mx.zeros((count, 0), mx.bfloat16),
        likeliest=ids[1:, None],
        logprobs=mx.zeros((count, 1)),
        greedy=(mx.arange(count) >= begin - 1) & text.greedy,
    )
