"""Each number of the width rules, as MLX 0.32 has it."""

import pytest

from mlx_spec.policy.kernels import TargetShape, batch_limit, edges, fused_rows, gpu

LIMITS = {  # (K, N) at most 2048, at most 4096, larger
    "applegpu_g13g": (14, 10, 6),
    "applegpu_g13s": (14, 10, 7),
    "applegpu_g14s": (14, 10, 6),
    "applegpu_g15s": (13, 15, 13),
    "applegpu_g16g": (13, 15, 13),
    "applegpu_g17s": (33, 25, 13),
    "applegpu_g13d": (32, 18, 12),
    "applegpu_g15d": (32, 18, 12),
}


@pytest.mark.parametrize("architecture", LIMITS)
def test_quantized_products_go_to_the_tile_kernel_at_the_limits_of_their_generation(architecture):
    found = gpu(architecture)
    assert found is not None
    sides = ((2048, 2048), (2048, 4096), (4096, 4096), (4097, 64), (64, 4097))
    small, middle, large = LIMITS[architecture]
    assert [batch_limit(*side, *found) for side in sides] == [small, middle, middle, large, large]


@pytest.mark.parametrize(
    ("group", "rows"), [(1, 8), (3, 8), (4, 8), (5, 6), (7, 4), (8, 4), (16, 2), (64, 1)]
)
def test_attention_stays_fused_to_8_rows_and_32_rows_times_group(group, rows):
    assert fused_rows(group) == rows


def rows(architecture: str, mode: str | None, group: int = 4) -> list[int]:
    shape = TargetShape(group, ((4096, 4096), (4096, 14336)), mode)
    return [edge.rows for edge in edges(shape, architecture)]


def test_edges_of_a_pass_on_each_kind_of_gpu():
    assert rows("applegpu_g16s", "affine") == [5, 8, 10, 12], (
        "two reads from 6, three from 11, a tile from 13"
    )
    assert rows("applegpu_g14s", "affine") == [1, 5, 8], "every row reads the weights; a tile from 6"
    assert rows("applegpu_g14s", "mxfp4") == [5, 8], "the tile comes with the second read"
    assert rows("applegpu_g16s", None) == [5, 8, 10, 15]
    assert rows("applegpu_g14s", None) == [1, 8]
    assert rows("applegpu_g16s", "affine", group=8) == [4, 5, 10, 12]
    assert rows("x86_64", "affine") == rows("", None) == []
