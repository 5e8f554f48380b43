"""Random numbers keyed by position, not by order of drawing.

A stream is a key; folding a position into it gives that position's own noise, whatever rounds
led there. That is what makes sampled text independent of drafting.

Numbers have 64 bits. MLX's own, of 32 bits in float32, end Gumbel noise at 16.6: a token of probability
under 1e-8 is never drawn. Here the noise ends at 45, and the limit is 1e-19.
"""

import mlx.core as mx
from jaxtyping import Float, UInt32

AHEAD = 16
"""Rows of noise made at once."""
STREAMS = 3
"""Streams per seed: shared noise, proposals, acceptance."""

Stream = UInt32[mx.array, "2"]
"""A mixed 64-bit key."""


def streams(seed: int) -> list[Stream]:
    """Independent streams of one seed, mixed so that neighbouring seeds share nothing."""
    return list(mx.random.split(mx.random.key(seed), STREAMS))


def fold(stream: Stream, position: int | mx.array) -> UInt32[mx.array, "2"]:
    """The key of one position of a stream."""
    return mx.concatenate([stream[:1], stream[1:] ^ mx.array(position).astype(mx.uint32)])


class Gumbel:
    """Standard Gumbel noise of one stream, each row keyed by its position."""

    def __init__(self, stream: Stream, vocab: int):
        self._stream, self._vocab = stream, vocab
        self._first, self._made = 0, mx.zeros((0, vocab))

    def rows(self, first: int | mx.array, count: int) -> Float[mx.array, "{count} vocab"]:
        """The noise of positions `first`, `first + 1`, ..."""
        if not isinstance(first, int):
            return _rows(self._stream, first, count, self._vocab)
        if not self._first <= first <= self._first + len(self._made) - count:
            # Several rounds' rows at once: the graph for few costs more than the numbers.
            ahead = -(-count // AHEAD) * AHEAD
            self._first, self._made = first, _rows(self._stream, mx.array(first), ahead, self._vocab)
        return self._made[first - self._first :][:count]


def uniform(key: UInt32[mx.array, "2"], count: int) -> Float[mx.array, " {count}"]:
    """Uniform numbers between 0 and 1, neither included, with a resolution of 64 bits near 0.

    Each has 32 bits of its own and shares the next 32, which matter only near 0: in float32 they would show
    in two numbers under 2^-24, which occur once in 10^14 pairs.
    """
    high = mx.random.split(key, (count + 1) // 2).reshape(-1)[:count]  # keys are two random words
    return _unit(high, mx.random.split(~key, 1)[0, :1])


def _unit(high: UInt32[mx.array, " count"], low: UInt32[mx.array, "1"]) -> Float[mx.array, " count"]:
    """The fraction whose first 64 bits are the two words, plus half a unit; at most 1 - 2^-24."""
    words = high.astype(mx.float32) + (low.astype(mx.float32) + 0.5) * 2**-32
    return mx.minimum(words * 2**-32, 1 - 2**-24)


# Compiled because every round builds them, and nothing runs on the device meanwhile.


@mx.compile
def gumbel(key: UInt32[mx.array, "2"], vocab: int) -> Float[mx.array, " {vocab}"]:
    """One row of standard Gumbel noise, -2.8 to 45."""
    return _gumbel(key, vocab)


@mx.compile
def _rows(stream: mx.array, first: mx.array, rows: int, vocab: int) -> mx.array:
    low = stream[1] ^ (first + mx.arange(rows)).astype(mx.uint32)
    keys = mx.stack([mx.broadcast_to(stream[0], (rows,)), low], axis=1)
    return mx.vmap(lambda key: _gumbel(key, vocab))(keys)


def _gumbel(key: mx.array, vocab: int) -> mx.array:
    tail = uniform(key, vocab)
    # -log(1 - tail), whose logarithm loses its digits where tail is small (log1p is slow on a CPU).
    exponential = mx.where(tail < 0.002, tail * (1 + tail / 2), -mx.log(1 - tail))
    return -mx.log(exponential)
