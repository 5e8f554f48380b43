"""Random numbers keyed by place, not by order of drawing.

A stream is a key on the host; folding a position into it gives that position's own noise, however
the text got there. That is what makes sampled text independent of drafting.

Numbers are drawn from 64 bits: with 32, float32 ends Gumbel noise at 16.6, and a token of probability
under 1e-8 is never drawn. These reach 45: what is never drawn is under 1e-19.
"""

import mlx.core as mx
from jaxtyping import Float, UInt32

STREAMS = 3
"""Streams per seed: shared noise, proposals, acceptance."""

Stream = tuple[int, int]
"""A mixed 64-bit key, as two 32-bit words on the host."""


def streams(seed: int) -> list[Stream]:
    """Independent streams of one seed, mixed so that neighbouring seeds share nothing."""
    words: list[list[int]] = mx.random.split(mx.random.key(seed), STREAMS).tolist()  # type: ignore[assignment]
    return [(high, low) for high, low in words]


def fold(stream: Stream, position: int | mx.array) -> UInt32[mx.array, "2"]:
    """The key of one position of a stream."""
    low = mx.array([stream[1]], mx.uint32) ^ mx.array(position).astype(mx.uint32)
    return mx.concatenate([mx.array([stream[0]], mx.uint32), low])


def gumbel_rows(
    stream: Stream, first: int | mx.array, rows: int, vocab: int
) -> Float[mx.array, "{rows} {vocab}"]:
    """Standard Gumbel noise, row i keyed by position `first + i`."""
    return _rows(mx.array(stream, mx.uint32), mx.array(first), rows, vocab)


def gumbel(key: UInt32[mx.array, "2"], vocab: int) -> Float[mx.array, " {vocab}"]:
    """One row of standard Gumbel noise, -2.8 to 45."""
    tail = uniform(key, vocab)
    # -log(1 - tail), whose logarithm loses its digits where tail is small (log1p is slow on a CPU).
    exponential = mx.where(tail < 0.002, tail * (1 + tail / 2), -mx.log(1 - tail))
    return -mx.log(exponential)


def uniform(key: UInt32[mx.array, "2"], count: int) -> Float[mx.array, " {count}"]:
    """Uniform numbers between 0 and 1, neither included, as fine near 0 as 64 bits are."""
    words = mx.random.split(key, count).astype(mx.float32)  # two words of 32 bits each
    return mx.minimum((words[:, 0] + (words[:, 1] + 0.5) * 2**-32) * 2**-32, 1 - 2**-24)


@mx.compile
def _rows(stream: mx.array, first: mx.array, rows: int, vocab: int) -> mx.array:
    # Compiled because every round builds it, and nothing runs on the device meanwhile.
    low = stream[1] ^ (first + mx.arange(rows)).astype(mx.uint32)
    keys = mx.stack([mx.broadcast_to(stream[0], (rows,)), low], axis=1)
    return mx.vmap(lambda key: gumbel(key, vocab))(keys)
