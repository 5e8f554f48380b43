"""Noise is keyed by position, follows its distribution, and reaches far into the tail."""

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec.verify import noise
from mlx_spec.verify.noise import Gumbel, fold, gumbel, streams, uniform


@pytest.mark.parametrize("vocab", [64, 1003])
def test_noise_of_a_place_has_the_same_bits_however_many_rows_are_drawn(vocab):
    stream = streams(7)[0]
    made = Gumbel(stream, vocab)
    rows = made.rows(40, 5)
    assert mx.array_equal(made.rows(50, 9)[0], Gumbel(stream, vocab).rows(50, 1)[0]), "past what was made"
    for i in range(5):
        assert mx.array_equal(made.rows(40 + i, 1)[0], rows[i]), "and back"
        assert mx.array_equal(made.rows(mx.array([40 + i], mx.int32), 1)[0], rows[i])
        assert mx.array_equal(gumbel(fold(stream, 40 + i), vocab), rows[i])
    assert not mx.array_equal(rows[0], rows[1])


def test_coupled_noise_draws_from_the_distribution():
    """Gumbel-max: the plain text of coupled noise follows p, and so do pairs of neighbouring positions."""
    p = np.array([0.5, 0.3, 0.15, 0.05])
    draws = []
    for seed in range(4):
        rows = Gumbel(streams(seed)[0], 4).rows(0, 3000)
        draws.append(np.array(mx.argmax(mx.log(mx.array(p)) + rows, axis=-1)))
    joined = np.concatenate(draws)
    counts = np.bincount(joined, minlength=4)
    expected = p * joined.size
    assert ((counts - expected) ** 2 / expected).sum() < 16.3  # chi-square, 3 df, p = 0.001
    pairs = np.bincount(joined[:-1] * 4 + joined[1:], minlength=16).reshape(4, 4)
    expected = np.outer(p, p) * (joined.size - 1)
    assert ((pairs - expected) ** 2 / expected).sum() < 37.7  # 15 df


def test_noise_is_gumbels_from_end_to_end(monkeypatch):
    """Against its quantiles in float64, from uniform numbers as small as 64 bits make them."""
    tails = np.array([2**-65, 1e-12, 1e-7, 1e-3, 0.0019999, 0.0020001, 0.5, 0.99, 1 - 2**-24], np.float32)
    monkeypatch.setattr(noise, "uniform", lambda key, count: mx.array(tails))
    found = np.array(gumbel(mx.random.key(0), len(tails)))
    np.testing.assert_allclose(found, -np.log(-np.log1p(-tails.astype(np.float64))), atol=2e-5)
    assert found[0] > 45


def test_uniform_numbers_are_as_fine_as_64_bits(monkeypatch):
    """Made of two words; never 0 or 1, whose logarithms would make a token impossible or certain."""
    for low in (0, 2**31, 2**32 - 1):
        high = [0, 1, 2**31, 2**32 - 1]
        words = iter([mx.array([high[:2], high[2:]], mx.uint32), mx.array([[low, 0]], mx.uint32)])
        monkeypatch.setattr(mx.random, "split", lambda key, count, words=words: next(words))
        found = uniform(mx.random.key(0), 4)
        wanted = [min((word + (low + 0.5) / 2**32) / 2**32, 1 - 2**-24) for word in high]
        np.testing.assert_allclose(np.array(found, np.float64), wanted, rtol=1e-6)
        assert 0 < found.min() and found.max() < 1


def test_uniform_numbers_are_even():
    counts, _ = np.histogram(np.array(uniform(mx.random.key(3), 50_000)), bins=20, range=(0, 1))
    assert ((counts - 2500) ** 2 / 2500).sum() < 43.8  # chi-square, 19 df, p = 0.001
