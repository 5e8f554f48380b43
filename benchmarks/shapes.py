"""Models of real shapes with random weights, and drafts with a set acceptance rate.

A target's weights are random, but it counts: its layers hardly change the embedding, and its output matrix is
its embedding matrix shifted by one row, so that token t is followed by t + 1, by a wide margin, at every
temperature used. A draft does all the work of its shape, then predicts t + 1, or, for a random share of the
tokens, another token. So in every program that runs them, speeds are those of real models, and acceptance is
as set.
"""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.llama import Model, ModelArgs

QUIET = 1e-3
"""Scale of the weights that write to the residual, relative to random initialization."""
SURE = 1e4
"""Logit of the token that a draft predicts."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a Llama model."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int = 64


TARGETS = {
    "llama-3.1-8b": Shape(32, 4096, 14336, 32, 8, 128),
    "llama-3.2-3b": Shape(28, 3072, 8192, 24, 8, 128),
    "tiny": Shape(2, 128, 256, 2, 2),
}
DRAFTS = {
    "135m": Shape(30, 576, 1536, 9, 3),
    "shallow-100m": Shape(2, 640, 2560, 10, 5),
    "llama-3.2-1b": Shape(16, 2048, 8192, 32, 8),
    "tiny": Shape(1, 128, 128, 2, 2),
}
"""The layers of SmolLM2-135M, two wide layers, and Llama-3.2-1B, with the target's vocabulary each."""


def random_target(shape: Shape, vocab: int, bits: int | None, dtype: mx.Dtype) -> nn.Module:
    """A target that counts, quantized in groups of 64 unless `bits` is None."""
    model = _model(shape, vocab, tied=False)
    for layer in model.layers:
        layer.self_attn.o_proj.weight = layer.self_attn.o_proj.weight * QUIET
        layer.mlp.down_proj.weight = layer.mlp.down_proj.weight * QUIET
    rows = model.model.embed_tokens.weight
    model.lm_head.weight = mx.concatenate([rows[-1:], rows[:-1]])
    return _settled(model, bits, dtype)


def random_draft(shape: Shape, vocab: int, bits: int | None, dtype: mx.Dtype) -> nn.Module:
    """A draft of this shape, with tied embeddings."""
    return _settled(_model(shape, vocab, tied=True), bits, dtype)


class ScriptedDraft(nn.Module):
    """Runs `model`, but predicts correctly for the share `acceptance` of the tokens."""

    def __init__(self, model: nn.Module, vocab: int, acceptance: float) -> None:
        super().__init__()
        self.model = model
        self._vocab = vocab
        self._right = mx.random.uniform(shape=(vocab,), key=mx.random.key(0)) < acceptance
        mx.eval(self._right)

    @property
    def layers(self) -> Any:
        """The layers to make caches for."""
        return self.model.layers

    def __call__(self, inputs: mx.array, cache: Any = None) -> mx.array:
        logits = self.model(inputs, cache=cache)
        following = (inputs + 1) % self._vocab
        guess = mx.where(self._right[following], following, (following + 1) % self._vocab)
        return mx.where(mx.arange(self._vocab) == guess[..., None], mx.array(SURE, logits.dtype), logits)


def _model(shape: Shape, vocab: int, *, tied: bool) -> Model:
    return Model(
        ModelArgs(
            model_type="llama",
            hidden_size=shape.hidden,
            num_hidden_layers=shape.layers,
            intermediate_size=shape.intermediate,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.kv_heads,
            head_dim=shape.head_dim,
            rms_norm_eps=1e-5,
            vocab_size=vocab,
            max_position_embeddings=131072,
            rope_theta=500000.0,
            tie_word_embeddings=tied,
        )
    )


def _settled(model: nn.Module, bits: int | None, dtype: mx.Dtype) -> nn.Module:
    """Cast, quantize and evaluate the weights module by module, so that only one is in memory unquantized."""
    model.set_dtype(dtype)
    if bits is not None:
        nn.quantize(model, group_size=64, bits=bits)
    for _, module in model.named_modules():
        mx.eval(module.parameters() if not module.children() else [])
    mx.eval(model.parameters())
    return model
