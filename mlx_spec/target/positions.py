"""A position for each row of a pass: the branches of a tree share positions.

mlx-lm's attention passes `rope` the offset of consecutive rows: a number, or one per sequence. In a tree pass
the offset is `[b, rows]`, which a wrapper around each `rope` applies row by row.
"""

from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.target.taps import InPlace


class RowRope(InPlace):
    """A rotary embedding that takes a position per row too."""

    def __call__(self, x: mx.array, offset: Any = 0, **rest: Any) -> mx.array:
        if not isinstance(offset, mx.array) or offset.ndim < 2:
            return self.layer(x, offset=offset, **rest)
        b, heads, rows, dim = x.shape
        alone = x.transpose(0, 2, 1, 3).reshape(b * rows, heads, 1, dim)
        turned = self.layer(alone, offset=mx.broadcast_to(offset, (b, rows)).reshape(-1), **rest)
        return turned.reshape(b, rows, heads, dim).transpose(0, 2, 1, 3)


def place_rows(model: nn.Module) -> None:
    """Wrap each rotary embedding of a model, in place; once is enough."""
    for _, parent in model.named_modules():
        for name, child in list(parent.items()):
            named = isinstance(child, nn.Module) and "rope" in type(child).__name__.lower()
            # One with parts of its own is an attention, or wrapped already.
            if named and not child.children() and not isinstance(parent, RowRope):
                setattr(parent, name, RowRope(child))
