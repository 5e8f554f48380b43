"""Initialises a draft model: a small Llama over its target's vocabulary or one of its own."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float
from mlx_lm.models.llama import Model, ModelArgs

from mlx_spec.drafters.draft_head import embedding_of
from mlx_spec.training.fit import Batch, Learner
from mlx_spec.training.start import copy_layer, matrix, norm_of, put
from mlx_spec.training.unroll import Guesses

SPREAD = 0.02
"""Spread of random matrices, as GPT-2's."""


def small_model(target: Any, args: ModelArgs) -> Model:
    """A model made of the target's: its tied embeddings, along their principal directions if it is narrower,
    and some layers, where sizes agree.
    """
    rows = matrix(embedding_of(target))
    assert rows is not None, "it is one of MLX's own layers"
    model = new_model(args, narrowed(rows.astype(mx.float32), args.hidden_size))
    last, count = len(target.layers) - 1, len(model.layers)
    for i, layer in enumerate(model.layers):  # the first and the last are among them
        copy_layer(layer, target.layers[round(i * last / max(1, count - 1))])
    put(model.model.norm, norm_of(getattr(target, "model", None), "norm"))
    return model


def new_model(args: ModelArgs, rows: Float[mx.array, "vocab width"] | None = None) -> Model:
    """A model of random float32 weights.

    Args:
        rows: tied embeddings; None: random ones.
    """
    mx.random.seed(0)
    model = Model(args)
    for layer in model.layers:
        # Small, so that each layer changes little at first.
        for part in (layer.self_attn.o_proj, layer.mlp.down_proj):
            part.weight = mx.random.normal(part.weight.shape) * SPREAD
    if rows is not None:
        model.model.embed_tokens.weight = rows
    # Logits of about one: its first distributions are nearly uniform.
    length = mx.linalg.norm(model.model.embed_tokens.weight, axis=-1).mean()
    model.model.norm.weight = mx.ones((args.hidden_size,)) / length
    model.set_dtype(mx.float32)
    mx.eval(model.parameters())
    return model


def narrowed(rows: mx.array, width: int) -> mx.array:
    """`[tokens, width]`: the rows along their principal directions."""
    if rows.shape[1] == width:
        return rows
    _, directions = mx.linalg.eigh(rows.T @ rows, stream=mx.cpu)
    return rows @ directions[:, -width:]


def learner(model: nn.Module, tokens: int, vocab: int, rate: float) -> Learner:
    """A learner of the next token.

    Args:
        tokens: of the model and the texts both.
        vocab: of the texts.
        rate: share of the usual learning rates.
    """

    def guesses(batch: Batch, steps: int) -> Guesses:
        logits: Any = model(batch.tokens)
        # Reading its own draft it guesses the same, if all tokens before are right.
        return [mx.pad(logits[:, 1 + s :, :tokens], [(0, 0), (0, 1 + s), (0, 0)]) for s in range(steps)]

    return Learner(model, range(tokens), vocab, guesses, steps=1, rate=rate)
