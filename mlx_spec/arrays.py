"""The arrays of one round: what a drafter proposes, what the target reads, what verification decides.

`b` sequences are written together, `n` tokens are drafted for each, a pass has `rows` rows a sequence.
Everything is lazy, and no shape depends on what was accepted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import mlx.core as mx
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class Length:
    """Tokens of each sequence: the device knows how many, the host may only know bounds."""

    value: int | mx.array
    """An int where the host knows it and it is the same for all, else int32 `[b]` on the device."""
    low: int
    """Lower bound, of the shortest sequence."""
    high: int
    """Upper bound, of the longest sequence."""

    @classmethod
    def exact(cls, count: int) -> "Length":
        """A count that the host knows."""
        return cls(count, count, count)

    def plus(self, count: int) -> "Length":
        """`count` more; fewer where it is negative."""
        return Length(self.value + count, self.low + count, self.high + count)

    def of(self, sequence: int) -> int | mx.array:
        """The value of one sequence: an int, or `[1]`."""
        return self.value if isinstance(self.value, int) else self.value[sequence : sequence + 1]


@dataclass(frozen=True, slots=True)
class Draft:
    """What a drafter proposes for one round. Any tokens are legal; without tokens it is a plain round."""

    tokens: Int[mx.array, "b n"]
    depth: int
    """The most of them that can be accepted: n for a chain."""
    parents: Int[mx.array, "b n"] | None = None
    """The row each token follows: 0 is the text's last token, i + 1 is drafted token i, an earlier one.
    None: a chain."""
    probs: Float[mx.array, "b n vocab"] | None = None
    """The distribution each token was drawn from. None: point masses."""
    shadow: Int[mx.array, "b m"] | None = None
    """For each of the text's latest tokens, 1 if the drafter would have predicted it, else 0."""

    @property
    def tree_depth(self) -> int | None:
        """The depth of a tree; None for a chain."""
        return None if self.parents is None else self.depth

    @classmethod
    def chain(cls, tokens: mx.array, probs: mx.array | None = None) -> "Draft":
        """Tokens `[b, n]`, each following the one before it."""
        depth = tokens.shape[1] if _are_whole(tokens) else 0  # `draft_fault` says what else they are
        return cls(tokens, depth, probs=probs)

    @classmethod
    def padded(cls, chains: Sequence[list[int]]) -> "Draft":
        """A chain per sequence, as the host has them, the shorter ones padded: any token is legal."""
        longest = max(map(len, chains))
        rows = [chain + [0] * (longest - len(chain)) for chain in chains]
        return cls.chain(mx.array(rows, mx.int32).reshape(len(rows), longest))

    @classmethod
    def none(cls, sequences: int, shadow: mx.array | None = None) -> "Draft":
        """A plain round."""
        return cls(mx.zeros((sequences, 0), mx.int32), 0, shadow=shadow)


def draft_fault(draft: Draft, sequences: int, depth: int, vocab: int) -> str | None:
    """What is wrong with a draft for `sequences` texts, where `depth` was asked for; None: nothing."""
    if not isinstance(draft, Draft) or not isinstance(draft.tokens, mx.array):
        return "it must give a Draft whose tokens are an array of MLX"
    tokens, parents, probs, shadow = draft.tokens, draft.parents, draft.probs, draft.shadow
    if not _are_whole(tokens, sequences):
        return f"its tokens are {_kind(tokens)}, and not whole numbers [{sequences}, n]"
    n = tokens.shape[1]
    least, most = (n if parents is None else min(n, 1)), min(n, depth)
    if not isinstance(draft.depth, int) or not least <= draft.depth <= most:
        return f"its depth is {draft.depth} with {n} tokens, where at most {depth} was asked for"
    if parents is not None and not (_are_whole(parents, sequences) and parents.shape[1] == n):
        return f"its parents are {_kind(parents)}, and not whole numbers [{sequences}, {n}]"
    floats = isinstance(probs, mx.array) and mx.issubdtype(probs.dtype, mx.floating)
    if probs is not None and not (floats and probs.shape[:-1] == tokens.shape and probs.shape[-1] <= vocab):
        return f"its probs are {_kind(probs)}, and not fractions [{sequences}, {n}, {vocab} at most]"
    if shadow is not None and not _are_whole(shadow, sequences):
        return f"its shadow is {_kind(shadow)}, and not whole numbers [{sequences}, m]"
    return None


def _are_whole(x: object, sequences: int | None = None) -> bool:
    """Whether they are an array of integers with a row for each sequence."""
    if not isinstance(x, mx.array) or x.ndim != 2 or not mx.issubdtype(x.dtype, mx.integer):
        return False
    return sequences is None or x.shape[0] == sequences


def _kind(x: object) -> str:
    """An array's dtype and shape; the class of anything else."""
    return f"{x.dtype} {list(x.shape)}" if isinstance(x, mx.array) else f"a {type(x).__name__}"


@dataclass(frozen=True, slots=True)
class Tree:
    """Which rows of a pass follow which. Row 0 is the text's last token, row i + 1 drafted token i."""

    parents: Int[mx.array, "b rows"]
    """Row 0 is its own parent."""
    depths: Int[mx.array, "b rows"]
    """Drafted tokens on the way to each row, itself included."""
    visible: Bool[mx.array, "b rows rows"]
    """Which rows each row follows, itself included."""

    @classmethod
    def of(cls, draft: Draft) -> "Tree | None":
        """None for a chain. Parents come before their children: others are moved, as MLX checks no bounds."""
        if draft.parents is None:
            return None
        earlier = mx.clip(draft.parents, 0, mx.arange(draft.parents.shape[1])).astype(mx.int32)
        parents = mx.pad(earlier, [(0, 0), (1, 0)])
        rows = parents.shape[1]
        places = mx.broadcast_to(parents[:, :, None], (*parents.shape, rows))
        own = mx.broadcast_to(mx.eye(rows, dtype=mx.bool_), places.shape)
        visible = own
        for _ in range(draft.depth):
            visible = own | mx.take_along_axis(visible, places, axis=1)
        return cls(parents, visible.sum(axis=-1).astype(mx.int32) - 1, visible)


@dataclass(frozen=True, slots=True)
class Pass:
    """One forward pass of a model."""

    ids: Int[mx.array, "b rows"]
    start: Length
    """The position of the first row."""
    draft: Draft | None = None
    """The draft that is verified: the last rows. None in prefill."""
    tree: Tree | None = None
    sequence: int | None = None
    """The one sequence that is read, in prefill; None: all."""
    hidden: Float[mx.array, "b first_rows dim"] | None = None
    """The features that a head reads beside the ids, for the first rows or all."""


@dataclass(frozen=True, slots=True)
class Output:
    """The result of a pass."""

    logits: Float[mx.array, "b rows vocab"]
    hidden: Mapping[int, Float[mx.array, "b rows dim"]] = field(default_factory=dict)
    """Outputs of the tapped layers, by layer."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The accepted part of a draft, and the target's own token after it."""

    accepted: Int[mx.array, " b"]
    path: Int[mx.array, "b gained"]
    """Rows of the pass that are accepted, the text's last token first; meaningless after `accepted`."""
    tokens: Int[mx.array, "b gained"]
    """The tokens gained: accepted ones, then the bonus; meaningless after `accepted`."""


def take_rows(x: mx.array, start: int | mx.array, count: int) -> mx.array:
    """`count` entries of axis 1, from `start`: one for all sequences (axis 0), or `[b]`."""
    if isinstance(start, int):
        return x[:, start : start + count]
    if start.shape[0] == 1:
        return mx.slice(x, start, (1,), (x.shape[0], count, *x.shape[2:]))
    return mx.take_along_axis(x, _places(x, start, count, axis=1), axis=1)


def entry(x: mx.array, i: int) -> mx.array:
    """`x[i]`, not copied: MLX gathers it by such an index."""
    return x[i : i + 1].squeeze(0)


def put_rows(x: mx.array, rows: mx.array, start: int | mx.array, axis: int) -> mx.array:
    """`x` with `rows` written along `axis`, from `start` on as in `take_rows`. MLX checks no bounds."""
    if isinstance(start, int):
        x[(slice(None),) * axis + (slice(start, start + rows.shape[axis]),)] = rows
        return x
    if start.shape[0] == 1:
        return mx.slice_update(x, rows, start, axes=(axis,))
    return mx.put_along_axis(x, _places(rows, start, rows.shape[axis], axis), rows, axis=axis)


def rearranged(x: mx.array, order: Sequence[int]) -> mx.array:
    """`x` with entry `order[i]` of axis 0 at place i; zeros in place of those that it does not have."""
    missing = max(order) + 1 - x.shape[0]
    if missing > 0:
        x = mx.pad(x, [(0, missing)] + [(0, 0)] * (x.ndim - 1))
    return x[mx.array(list(order))]


def best(scores: Float[mx.array, "rows vocab"], count: int) -> Int[mx.array, "rows {count}"]:
    """The tokens with the highest scores, best first."""
    few = mx.argpartition(-scores, count - 1, axis=-1)[:, :count]
    order = mx.argsort(-mx.take_along_axis(scores, few, axis=-1), axis=-1)
    return mx.take_along_axis(few, order, axis=-1).astype(mx.int32)


def last_of_each(keys: Int[mx.array, " n"]) -> Int[mx.array, " n"]:
    """For each key the place of its last occurrence.

    For writes by keys that occur twice: on a GPU either value may remain, or a row that mixes both.
    """
    places = mx.arange(keys.shape[0])
    return mx.where(keys[:, None] == keys, places, -1).max(axis=1)


def _places(x: mx.array, start: mx.array, count: int, axis: int) -> mx.array:
    places = start[:, None] + mx.arange(count)
    shape = [x.shape[0], *(count if i == axis else 1 for i in range(1, x.ndim))]
    sizes = [count if i == axis else size for i, size in enumerate(x.shape)]
    return mx.broadcast_to(places.reshape(shape), sizes)
