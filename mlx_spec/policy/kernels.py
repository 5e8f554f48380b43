"""How many rows a target pass may have on an Apple GPU before MLX leaves a faster kernel: data.

Read in MLX 0.32's source and constants (mlx/backend/metal/: quantized.cpp `get_qmv_batch_limit` and
`dispatch_qmv`, matmul.cpp, scaled_dot_product_attention.cpp). Measured costs choose the draft length; these
numbers, not measured here, explain why a curve jumps, and settle near-ties.
"""

import re
from dataclasses import dataclass

ROWS_PER_PASS = 5
"""Rows that `qmv_wide` and `gemv_wide` multiply with one read of the weights."""
WIDE_GENERATION = 15
"""M3. Older GPUs read affine-quantized weights once per row, and send dense products to a padded tile."""
DENSE_WIDE_ROWS = 15
"""The most rows `gemv_wide` takes; more go to a tile."""
TILE_ROWS = 32
"""A matrix tile costs the same for 1 row as for all of these."""
FUSED_QUERY_ROWS = 8
"""Query rows of the fused attention for few rows."""
FUSED_SIMDS = 32
"""Query rows times query heads per key-value head, at most, in the same kernel."""
BATCH_LIMITS = {
    "ultra": (32, 18, 12),
    "m5": (33, 25, 13),
    "m3": (13, 15, 13),
    "m1": (14, 10, 6),
}
"""Rows from which a quantized product goes to the tile kernel: both sides of the matrix at most 2048, at most
4096, larger. 0.32.4 has 7 in place of 6 for `applegpu_g13s`."""

_ARCHITECTURE = re.compile(r"applegpu_g(\d\d)([a-z])")


@dataclass(frozen=True, slots=True)
class TargetShape:
    """The properties of a target that decide which kernels its passes use."""

    group: int
    """Query heads per key-value head."""
    matrices: tuple[tuple[int, int], ...]
    """(inputs, outputs) of the products that make up most of a pass."""
    mode: str | None
    """How weights are quantized: `affine`, `mxfp4`, ...; None if they are not."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Rows up to which a pass stays on a faster path, and what the next row brings."""

    rows: int
    beyond: str


def gpu(architecture: str) -> tuple[int, str] | None:
    """(generation, size letter) of `applegpu_g16s`; None for other devices."""
    found = _ARCHITECTURE.fullmatch(architecture)
    return (int(found[1]), found[2]) if found else None


def batch_limit(inputs: int, outputs: int, generation: int, size: str) -> int:
    """Rows from which a quantized product uses the tile kernel."""
    row = "ultra" if size == "d" else "m5" if generation >= 17 else "m3" if generation >= 15 else "m1"
    small, middle, large = BATCH_LIMITS[row]
    if row == "m1" and generation == 13 and size == "s":
        large = 7
    widest = max(inputs, outputs)
    return small if widest <= 2048 else middle if widest <= 4096 else large


def fused_rows(group: int) -> int:
    """Query rows that stay in the fused attention for few rows; one row always does."""
    return max(1, min(FUSED_QUERY_ROWS, FUSED_SIMDS // group))


def edges(shape: TargetShape, architecture: str) -> tuple[Edge, ...]:
    """Where passes of 1 to 32 rows leave a faster path on this GPU, narrowest first; none elsewhere."""
    found = gpu(architecture)
    if found is None:
        return ()
    products = _quantized(shape, *found) if shape.mode else _dense(found[0])
    attention = Edge(fused_rows(shape.group), "attention is no longer fused")
    return tuple(sorted((attention, *products), key=lambda edge: edge.rows))


def _quantized(shape: TargetShape, generation: int, size: str) -> list[Edge]:
    limit = min(batch_limit(*matrix, generation, size) for matrix in shape.matrices)
    tile = [Edge(limit - 1, f"products cost as much as {TILE_ROWS} rows")] if limit <= TILE_ROWS else []
    if shape.mode == "affine" and generation < WIDE_GENERATION:
        return [Edge(1, "every row reads the weights again"), *tile]
    return [*_passes(limit - 1), *tile]


def _dense(generation: int) -> list[Edge]:
    tile = f"products cost as much as {TILE_ROWS} rows"
    if generation < WIDE_GENERATION:
        return [Edge(1, tile)]
    return [*_passes(DENSE_WIDE_ROWS), Edge(DENSE_WIDE_ROWS, tile)]


def _passes(rows: int) -> list[Edge]:
    """Where another read of the weights begins, below `rows`."""
    return [
        Edge(end, "the weights are read once more")
        for end in range(ROWS_PER_PASS, min(rows, TILE_ROWS), ROWS_PER_PASS)
    ]
