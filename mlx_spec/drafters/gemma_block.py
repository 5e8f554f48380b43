"""Layers of DSpark heads for Gemma 4 (DeepSpec, `modeling/dspark/gemma4`).

Gemma's norms around attention and MLP, and the attention of its layers without a window: values may be the
keys before rope, without a projection of their own, and products of queries and keys are not scaled.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models import qwen3
from mlx_lm.models.gemma4_text import RMSNormNoScale, geglu

from mlx_spec.drafters.dflash_head import DFlashAttention


class GemmaBlockAttention(DFlashAttention):
    """Queries of the block, keys and values of text and block."""

    def __init__(self, args: qwen3.ModelArgs, rope: Mapping[str, Any], own_values: bool):
        theta = rope.get("rope_theta", 10_000.0)
        super().__init__(replace(args, rope_theta=theta, rope_scaling=dict(rope)))
        self.scale, self._own_values = 1.0, own_values
        if not own_values:
            del self.v_proj
        self.v_norm = RMSNormNoScale(args.head_dim, args.rms_norm_eps)

    def project_values(self, both: mx.array) -> mx.array:
        found = (self.v_proj if self._own_values else self.k_proj)(both)
        return self.v_norm(found.reshape(*both.shape[:2], self.n_kv_heads, -1))


class GemmaBlockLayer(nn.Module):
    """A decoder layer of rows of the block.

    Args:
        rope: config.json's rope parameters of layers without a window.
        own_values: whether values have a projection of their own.
    """

    def __init__(self, args: qwen3.ModelArgs, rope: Mapping[str, Any], own_values: bool):
        super().__init__()
        self.self_attn = GemmaBlockAttention(args, rope, own_values)
        self.mlp = GemmaMLP(args.hidden_size, args.intermediate_size)
        self.input_layernorm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)
        self.pre_feedforward_layernorm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)
        self.post_feedforward_layernorm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)
        self.layer_scalar = mx.ones((1,))

    def __call__(self, block: mx.array, text: mx.array, mask: Any, cache: Any) -> mx.array:
        attended = self.self_attn(self.input_layernorm(block), text, mask, cache)
        block = block + self.post_attention_layernorm(attended)
        x = self.mlp(self.pre_feedforward_layernorm(block))
        return (block + self.post_feedforward_layernorm(x)) * self.layer_scalar


class GemmaMLP(qwen3.MLP):
    """With Gemma's gate."""

    def __call__(self, x: mx.array) -> mx.array:
        return self.down_proj(geglu(self.gate_proj(x), self.up_proj(x)))
