"""Documents as tokens, searched for the longest match of a text's ending.

A suffix array (Manber and Myers 1993) of the reversed documents: the tokens before a place are its suffix, so
one binary search finds the longest match; REST (He et al., NAACL 2024, arXiv 2311.08252) searches once per
length. Places are sorted by the `DEPTH` tokens before them: a longer match makes no better draft. A search
reads only what it compares, so the array may be a mapped file.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import takewhile

import numpy as np
from jaxtyping import UInt32
from numpy.typing import ArrayLike

DEPTH = 16
"""The longest match that is looked for, in tokens."""
BORDER = 2**31 - 1
"""Ends every document; no tokenizer has this id."""
_WIDTH = 4
"""Bytes of a token."""


class TokenStore:
    """Finds the endings of texts in documents.

    Args:
        array: from `arranged`.
    """

    def __init__(self, array: UInt32[np.ndarray, "2 n"]):
        self._tokens = np.asarray(array[0]).view(">u4")
        self._bytes = np.asarray(array[0]).data.cast("B")
        self._order = np.asarray(array[1]).data

    def longest_match(self, text: Sequence[int]) -> tuple[int, int]:
        """(length of the longest ending of `text` that is followed by a token, at most `DEPTH`; its place).

        Of several of length `DEPTH` the last one; (0, 0) if not even the last token is found.
        """
        count = min(len(text), DEPTH)
        ending = struct.pack(f">{count}I", *reversed(text[len(text) - count :]))
        at = bisect_left(self._order, ending, key=lambda place: self._before(place, len(ending)))
        near = self._order[max(0, at - 1) : at + 1].tolist()  # no other place shares more with it
        sizes = [_shared(ending, self._before(place, len(ending))) for place in near]
        size = max(sizes, default=0)
        return (size, near[sizes.index(size)]) if size else (0, 0)

    def following(self, place: int, count: int) -> list[int]:
        """At most `count` tokens after a place, to the end of its document or a number that is no token."""
        tokens = self._tokens[max(0, place - count) : place][::-1].tolist()
        return list(takewhile(BORDER.__gt__, tokens))

    def _before(self, place: int, size: int) -> bytes:
        """Tokens before a place, the nearest first, as big-endian bytes: these sort as the numbers do."""
        return self._bytes[_WIDTH * place : _WIDTH * place + size].tobytes()


def arranged(documents: Iterable[ArrayLike]) -> UInt32[np.ndarray, "2 n"]:
    """The tokens of all documents backwards, as big-endian bytes, and the order of their suffixes.

    By prefix doubling: the order by n tokens gives the order by 2 n.
    """
    parts = [np.append(np.asarray(document, np.uint32), np.uint32(BORDER)) for document in documents]
    tokens = np.concatenate(parts or [np.zeros(0, np.uint32)])[::-1]
    rank, width = tokens.astype(np.int64), 1
    while width < DEPTH:
        after = np.zeros_like(rank)
        after[:-width] = rank[width:] + 1  # the end of all comes before every token
        rank = np.unique(rank << 32 | after, return_inverse=True)[1]
        width *= 2
    order, last = np.argsort(rank, kind="stable"), np.append(False, tokens[:-1] == BORDER)[: len(rank)]
    order = order[~last[order]]  # nothing follows the last token of a document
    order = np.pad(order, (len(rank) - len(order), 0), constant_values=len(rank))
    return np.stack([tokens.astype(">u4").view(np.uint32), order.astype(np.uint32)])


def _shared(a: bytes, b: bytes) -> int:
    """Tokens at the beginning of both."""
    different = (i for i in range(0, len(a), _WIDTH) if a[i : i + _WIDTH] != b[i : i + _WIDTH])
    return next(different, len(a)) // _WIDTH
