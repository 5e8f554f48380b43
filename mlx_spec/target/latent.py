"""Attention to latent vectors (DeepSeek-V2, section 2.1.2) for the few rows of a decoding pass.

mlx-lm attends to the latent vectors themselves only in passes of one row. For more it computes keys and
values of the whole text, in every layer: a drafted round would take longer as the text grows, and round
otherwise than a plain one. Here up to `FEW` rows are read as one is. Nothing of a model's own code is copied:
the module that makes the keys, and the function that attends, are wrapped where its code names them.
"""

import sys
from typing import Any, NamedTuple

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.base import scaled_dot_product_attention

from mlx_spec.target.taps import InPlace

KINDS = frozenset({"deepseek_v3", "glm4_moe_lite", "kimi_linear", "longcat_flash", "bailing_hybrid"})
"""mlx-lm's modules whose attention passes on such keys as they are."""
FEW = 64
"""Rows up to which this is less work than keys and values of the whole text, with the usual 128 of each."""


class Latent(NamedTuple):
    """Keys that are not computed yet."""

    vectors: mx.array
    """`[b, 1, rows, rank]`"""
    keys: nn.Module
    values: nn.Module


class Keys(InPlace):
    """In place of a layer's `embed_q`, which turns queries into latent ones, or latent vectors into keys."""

    def __init__(self, layer: nn.Module, values: nn.Module):
        super().__init__(layer)
        self._values = (values,)  # in a tuple, or it would be a second owner of the parameters

    def __call__(self, x: mx.array, transpose: bool = True) -> Any:
        return self.layer(x) if transpose else Latent(x, self.layer, *self._values)


def attention(queries: mx.array, keys: Any, values: mx.array, *rest: Any, **given: Any) -> mx.array:
    """mlx-lm's function. With `Latent` keys and few rows the given values, lazy ones, are not computed."""
    if not isinstance(keys, Latent):
        return scaled_dot_product_attention(queries, keys, values, *rest, **given)
    if queries.shape[2] > FEW:
        found = keys.keys(keys.vectors, transpose=False)
        return scaled_dot_product_attention(queries, found, values, *rest, **given)
    latent = keys.keys(queries)
    return keys.values(scaled_dot_product_attention(latent, keys.vectors, keys.vectors, *rest, **given))


def attend_to_latents(model: nn.Module) -> None:
    """Let a model's attention read few rows as it reads one, in place; once is enough."""
    for _, layer in model.named_modules():
        module = type(layer).__module__
        if module.rpartition(".")[2] in KINDS and "embed_q" in layer:
            vars(sys.modules[module])["scaled_dot_product_attention"] = attention
            if not isinstance(layer.embed_q, Keys):
                layer.embed_q = Keys(layer.embed_q, layer.unembed_out)
