"""Quantized numbers of GGUF files, in MLX's format: affine, in groups of 32 weights.

Groups of 32 stay the same, but for scales of K-quants: they are rounded to float16. The formats are those of
llama.cpp's `ggml-quants.c`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import mlx.core as mx

GROUP = 32
"""Weights that share a scale in memory."""

Decoded = tuple[mx.array, mx.array, mx.array]
"""q, scales and biases of each block, whose weights are q * scale + bias: `[blocks, weights]`, and `[blocks,
groups]` twice."""


@dataclass(frozen=True)
class Kind:
    """A format of quantized numbers."""

    weights: int
    """Weights of a block."""
    size: int
    """Bytes of a block."""
    bits: int
    """Of a weight in memory."""
    decode: Callable[[mx.array], Decoded]

    @property
    def rounded(self) -> bool:
        """Whether not all weights stay the same bit for bit."""
        return self.weights > GROUP

    def in_mlx(self, content: mx.array, rows: int) -> Decoded:
        """A matrix's packed weights, scales and biases, from its blocks `[blocks, size]`."""
        q, scales, biases = self.decode(content)
        q = q.reshape(*scales.shape, -1)
        if q.shape[2] == GROUP:
            found = _packed(q.reshape(rows, -1), self.bits), scales, biases
        else:
            numbers = (q * scales[..., None] + biases[..., None]).reshape(rows, -1)
            found = mx.quantize(numbers, GROUP, self.bits)
        packed, scales, biases = (x.reshape(rows, -1) for x in found)
        return packed, scales.astype(mx.float16), biases.astype(mx.float16)


def _packed(q: mx.array, bits: int) -> mx.array:
    """Numbers `[rows, n]` of this many bits, as MLX packs them: eight of them in as many bytes as bits."""
    if bits == 8:
        return q.view(mx.uint32)
    if bits == 4:
        pairs = q.view(mx.uint16)
        return (pairs | pairs >> 4).astype(mx.uint8).view(mx.uint32)
    words = sum(q[:, i::8].astype(mx.uint64) << (bits * i) for i in range(8))
    return words[..., None].view(mx.uint8)[..., :bits].flatten(1).view(mx.uint32)  # type: ignore[index]


def _fields(x: mx.array, width: int, bits: int) -> mx.array:
    """Numbers of a few bits: the lowest bits of `width` bytes, then their next bits, and so on."""
    shifts = mx.arange(0, 8, bits, mx.uint8)[:, None]
    return ((x.reshape(len(x), -1, 1, width) >> shifts) & (2**bits - 1)).flatten(1)


def _half(x: mx.array, at: int) -> mx.array:
    return mx.contiguous(x[:, at : at + 2]).view(mx.float16).astype(mx.float32)


def _fives(x: mx.array) -> mx.array:
    """Numbers of five bits: their highest bits, then the others."""
    return _fields(x[:, 4:], 16, 4) | _fields(x[:, :4], 1, 1) << 4


def _q2_k(x: mx.array) -> Decoded:
    scales = x[:, :16]
    return _fields(x[:, 16:80], 32, 2), _half(x, 80) * (scales & 15), -_half(x, 82) * (scales >> 4)


def _q3_k(x: mx.array) -> Decoded:
    q = _fields(x[:, 32:96], 32, 2) | _fields(x[:, :32], 32, 1) << 2
    six = _fields(x[:, 96:104], 8, 4) | _fields(x[:, 104:108], 4, 2) << 4
    scales = _half(x, 108) * (six.astype(mx.float32) - 32)
    return q, scales, -4 * scales


def _q5_k(x: mx.array) -> Decoded:
    return _fields(x[:, 48:], 32, 4) | _fields(x[:, 16:48], 32, 1) << 4, *_scales_and_biases(x)


def _scales_and_biases(x: mx.array) -> tuple[mx.array, mx.array]:
    """Of Q4_K and Q5_K: eight numbers of six bits each, in twelve bytes."""
    first, second, rest = x[:, 4:8], x[:, 8:12], x[:, 12:16]
    scales = mx.concatenate([first & 63, rest & 15 | first >> 6 << 4], axis=1)
    biases = mx.concatenate([second & 63, rest >> 4 | second >> 6 << 4], axis=1)
    return _half(x, 0) * scales, -_half(x, 2) * biases


def _q6_k(x: mx.array) -> Decoded:
    q = _fields(x[:, :128], 64, 4) | _fields(x[:, 128:192], 32, 2) << 4
    scales = _half(x, 208) * mx.contiguous(x[:, 192:208]).view(mx.int8)
    return q, scales, -32 * scales


def _iq4_nl(x: mx.array) -> Decoded:
    """In Q2_K and Q3_K files, the matrices whose rows are no multiple of 256."""
    values = [1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241]
    return mx.array(values, mx.uint8)[_fields(x[:, 2:], 16, 4)], (d := _half(x, 0)), -128 * d


KINDS = {
    2: Kind(32, 18, 4, lambda x: (_fields(x[:, 2:], 16, 4), (d := _half(x, 0)), -8 * d)),  # Q4_0
    3: Kind(32, 20, 4, lambda x: (_fields(x[:, 4:], 16, 4), _half(x, 0), _half(x, 2))),  # Q4_1
    6: Kind(32, 22, 5, lambda x: (_fives(x[:, 2:]), (d := _half(x, 0)), -16 * d)),  # Q5_0
    7: Kind(32, 24, 5, lambda x: (_fives(x[:, 4:]), _half(x, 0), _half(x, 2))),  # Q5_1
    8: Kind(32, 34, 8, lambda x: (x[:, 2:] ^ 128, (d := _half(x, 0)), -128 * d)),  # Q8_0
    10: Kind(256, 84, 3, _q2_k),
    11: Kind(256, 110, 4, _q3_k),
    12: Kind(256, 144, 4, lambda x: (_fields(x[:, 16:], 32, 4), *_scales_and_biases(x))),  # Q4_K
    13: Kind(256, 176, 5, _q5_k),
    14: Kind(256, 210, 6, _q6_k),
    20: Kind(32, 18, 8, _iq4_nl),
}
"""By their number in the file. Scales of Q2_K, Q3_K and Q6_K are of 16 weights: their weights are quantized
again, to a bit more."""
