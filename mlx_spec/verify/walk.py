"""The path of the target's own tokens through a draft tree."""

import mlx.core as mx
from jaxtyping import Int


def walk(
    own: Int[mx.array, " rows"],
    drafted: Int[mx.array, " n"],
    parents: Int[mx.array, " rows"],
    depth: int,
) -> tuple[Int[mx.array, ""], Int[mx.array, " {depth+1}"]]:
    """(accepted, path): from the root, at each row to the child that is the target's own token.

    Args:
        own: the target's own token after each row.
        depth: of the deepest row.
    """
    row, accepted, alive = mx.array(0), mx.array(0), mx.array(True)
    path = [row]
    for _ in range(depth):
        right = (parents[1:] == row) & (drafted == own[row])
        alive = alive & right.any()
        row = mx.where(alive, mx.argmax(right) + 1, row)
        accepted = accepted + alive
        path.append(row)
    return accepted.astype(mx.int32), mx.stack(path).astype(mx.int32)
