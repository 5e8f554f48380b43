"""Attention to latent vectors reads few rows of a pass as it reads each alone."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models.base import create_attention_mask
from mlx_lm.models.cache import KVCache

from mlx_spec.target.latent import FEW, KINDS, attend_to_latents
from tests.mlx_spec.model_types import build

READ, ROWS = 9, 5


def outputs(attention: Any, passes: Sequence[int]) -> mx.array:
    """Of rows of noise, read in passes of so many."""
    width = attention.kv_a_proj_with_mqa.weight.shape[1]
    x, cache, out, at = mx.random.normal((1, sum(passes), width), key=mx.random.key(3)), KVCache(), [], 0
    for rows in passes:
        part = x[:, at : at + rows]
        out.append(attention(part, create_attention_mask(part, cache, return_array=rows > 1), cache))
        at += rows
    return mx.concatenate(out, axis=1)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_few_rows_are_read_as_each_alone_and_many_as_mlx_lm_does(kind: str) -> None:
    model = build(kind)
    attention: Any = next(part for part in model.modules() if "embed_q" in part)
    alone, theirs = outputs(attention, (READ, *[1] * ROWS)), outputs(attention, (READ, ROWS))
    many = outputs(attention, (FEW + 1,))
    for _ in range(2):
        attend_to_latents(model)
        ours = outputs(attention, (READ, ROWS))
        assert mx.array_equal(ours[:, READ:], alone[:, READ:])
        assert mx.allclose(ours, theirs, atol=1e-4) and mx.array_equal(outputs(attention, (FEW + 1,)), many)
    assert not mx.array_equal(theirs[:, READ:], alone[:, READ:]), (
        "mlx-lm rounds otherwise where it reads more"
    )
