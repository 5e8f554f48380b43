"""A draft tree, grown level by level at its likeliest nodes, all on the device.

EAGLE-2 (Li et al. 2024, arXiv 2406.16858, section 4): at each level only the likeliest nodes get children,
and the likeliest of all nodes are drafted.
"""

from dataclasses import dataclass

import mlx.core as mx
from jaxtyping import Float, Int

from mlx_spec.arrays import Draft

DEEPER = 1e-4
"""Subtracted from the log probability at every level: a node comes before its children."""


@dataclass(frozen=True, slots=True)
class Growth:
    """All nodes so far, level by level, `width` at each."""

    width: int
    tokens: Int[mx.array, "b n"]
    parents: Int[mx.array, "b n"]
    """As of a draft: 0 is the text's last token, i + 1 is node i."""
    sure: Float[mx.array, "b n"]
    """The drafter's log probability of all tokens up to the node."""
    paths: Int[mx.array, "b width depth"]
    """The tokens that lead to each node of the last level, its own included."""

    @classmethod
    def first(cls, logprobs: Float[mx.array, "b vocab"], width: int) -> "Growth":
        """The first level."""
        tokens = _best(logprobs, width)
        sure = mx.take_along_axis(logprobs, tokens, axis=-1)
        return cls(width, tokens, mx.zeros_like(tokens), sure, tokens[:, :, None])

    @property
    def depth(self) -> int:
        return self.paths.shape[2]

    def next(self, logprobs: Float[mx.array, "b width vocab"]) -> tuple["Growth", Int[mx.array, "b width"]]:
        """(the tree with one more level, the parent of each new node in the last level)."""
        b, width = len(self.tokens), self.width
        tokens = _best(logprobs, width)
        sure = mx.take_along_axis(logprobs, tokens, axis=-1) + self.sure[:, -width:, None] - DEEPER
        chosen = _best(sure.reshape(b, -1), width)
        on = chosen // width
        tokens = mx.take_along_axis(tokens.reshape(b, -1), chosen, axis=-1)
        sure = mx.take_along_axis(sure.reshape(b, -1), chosen, axis=-1)
        places = mx.broadcast_to(on[:, :, None], self.paths.shape)
        paths = mx.concatenate([mx.take_along_axis(self.paths, places, axis=1), tokens[:, :, None]], axis=2)
        parents = on + (self.tokens.shape[1] - width + 1)
        return Growth(
            width,
            mx.concatenate([self.tokens, tokens], axis=1),
            mx.concatenate([self.parents, parents], axis=1),
            mx.concatenate([self.sure, sure], axis=1),
            paths,
        ), on

    def whole(self) -> Draft:
        """All nodes."""
        return Draft(self.tokens, self.depth, self.parents)

    def likeliest(self, count: int) -> Draft:
        """The nodes that are likeliest to be accepted."""
        if count >= self.tokens.shape[1]:
            return self.whole()
        kept = mx.sort(_best(self.sure, count), axis=-1)
        parents = mx.take_along_axis(self.parents, kept, axis=-1)
        place = mx.argmax(kept[:, None, :] == (parents - 1)[:, :, None], axis=-1).astype(mx.int32) + 1
        tokens = mx.take_along_axis(self.tokens, kept, axis=-1)
        return Draft(tokens, self.depth, mx.where(parents == 0, 0, place))


def _best(scores: mx.array, count: int) -> mx.array:
    """Indices of the highest scores along the last axis, in no order."""
    return mx.argpartition(-scores, count - 1, axis=-1)[..., :count].astype(mx.int32)
