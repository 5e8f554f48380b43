"""Random numbers keyed by place, not by order of drawing.

A stream is a key on the host; folding a position into it gives that position's own noise, however
the text got there. That is what makes sampled text independent of drafting.
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


@mx.compile
def _rows(stream: mx.array, first: mx.array, rows: int, vocab: int) -> mx.array:
    # Compiled because every round builds it, and nothing runs on the device meanwhile.
    low = stream[1] ^ (first + mx.arange(rows)).astype(mx.uint32)
    keys = mx.stack([mx.broadcast_to(stream[0], (rows,)), low], axis=1)
    return mx.vmap(lambda key: mx.random.gumbel((vocab,), key=key))(keys)
