"""The filters of sampling, against a naive implementation."""

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.types import Options
from mlx_spec.verify.distribution import logprobs


def by_sorting(row: np.ndarray, options: Options) -> np.ndarray:
    """Top-k, then top-p, then min-p, over one fully sorted row of logits."""
    order = np.argsort(-row)
    p = np.exp(row[order] / options.temperature)
    p[options.top_k or len(p) :] = 0
    p /= p.sum()
    p[np.cumsum(p) - p >= options.top_p] = 0
    p[p < options.min_p * p[0]] = 0
    found = np.empty_like(p)
    found[order] = p / p.sum()
    return found


@pytest.mark.parametrize(
    "filters",
    [
        {"top_k": 7},
        {"top_p": 0.8},
        {"min_p": 0.1},
        {"top_k": 20, "top_p": 0.7, "min_p": 0.05},
        {"top_k": 500},
    ],
    ids=str,
)
def test_filters_keep_what_a_full_sort_keeps(filters):
    options = Options(temperature=0.7, **filters)
    logits = mx.random.normal((5, 200), key=mx.random.key(1)) * 2
    found = np.exp(np.array(logprobs(logits, options)))
    for row, probs in zip(np.array(logits, np.float64), found, strict=True):
        np.testing.assert_allclose(probs, by_sorting(row, options), atol=1e-6)
