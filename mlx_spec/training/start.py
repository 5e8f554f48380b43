"""Initialises heads from their target's last layer and output rows, so that they learn from few tokens. Where
the target's code is of another kind, that part is random."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.drafters.draft_head import output_layer_of
from mlx_spec.drafters.eagle_head import EagleHead, EagleShape
from mlx_spec.drafters.medusa_head import MedusaHead, MedusaShape


def eagle_head(target: Any, shape: EagleShape) -> EagleHead:
    """A head of float32 weights.

    Raises:
        UnsupportedModel: the sizes are of another target.
    """
    head = EagleHead(shape, target)
    layer, own = target.layers[-1], head.midlayer
    copy_layer(own, layer)
    attention = getattr(layer, "self_attn", None)
    for name in ("q_proj", "k_proj", "v_proj"):
        # For the hidden state; zeros for the embedding beside it.
        weight = matrix(getattr(attention, name, None))
        if weight is not None:
            put(own.self_attn[name], mx.concatenate([mx.zeros_like(weight), weight], axis=1))
    put(own.hidden_norm, norm_of(layer, "input_layernorm"))
    put(own.input_layernorm, norm_of(target.layers[0], "input_layernorm"))
    put(head.norm, norm_of(getattr(target, "model", None), "norm"))
    put(head.lm_head, output_rows(target, shape.tokens))
    highest = mx.eye(shape.args.hidden_size, shape.target_hidden)
    put(head.fc, mx.concatenate([mx.zeros_like(highest)] * (len(shape.taps) - 1) + [highest], axis=1))
    head.set_dtype(mx.float32)
    mx.eval(head.parameters())
    return head


def medusa_head(target: Any, shape: MedusaShape) -> MedusaHead:
    """Heads of float32 weights that guess as the target does for the next token.

    Raises:
        UnsupportedModel: the sizes are of another target, or its last norm cannot be found.
    """
    head = MedusaHead(shape, target)
    put(head.lm_head, output_rows(target, shape.tokens))
    head.set_dtype(mx.float32)
    mx.eval(head.parameters())
    return head


def copy_layer(own: Any, layer: Any) -> None:
    """Copy the matrices and norms of a decoder layer of the target, where sizes agree."""
    for part in ("self_attn", "mlp"):
        for name, linear in own[part].items():
            if isinstance(linear, nn.Linear):
                put(linear, matrix(getattr(getattr(layer, part, None), name, None)))
    for name in ("input_layernorm", "post_attention_layernorm"):
        put(own[name], norm_of(layer, name))


def output_rows(target: Any, tokens: Sequence[int]) -> mx.array:
    """The target's output rows of these tokens: `[tokens, dim]`."""
    whole = matrix(output_layer_of(target))
    assert whole is not None, "it is one of MLX's own layers"
    return whole[mx.array(list(tokens))]


def matrix(layer: Any) -> mx.array | None:
    """The weights of one of MLX's layers; None of any other."""
    if isinstance(layer, (nn.QuantizedLinear, nn.QuantizedEmbedding)):
        scales = (layer.scales, layer.get("biases"))
        return mx.dequantize(layer.weight, *scales, layer.group_size, layer.bits, layer.mode)
    return layer.weight if isinstance(layer, (nn.Linear, nn.Embedding)) else None


def norm_of(parent: Any, name: str) -> mx.array | None:
    """A norm's weight, of MLX's own class only: others store other numbers, such as the weight minus one."""
    norm = getattr(parent, name, None)
    return norm.weight if type(norm) is nn.RMSNorm else None


def put(layer: Any, weight: mx.array | None) -> None:
    """Set a layer's weight, if there is one and it fits."""
    if weight is not None and weight.shape == layer.weight.shape:
        layer.weight = weight.astype(mx.float32)
