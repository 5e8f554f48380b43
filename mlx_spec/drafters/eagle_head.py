"""A head on a target's hidden states, laid out as EAGLE-3 checkpoints are (Li et al. 2025, arXiv 2503.01840).

One transformer layer. Its row t reads the token after position t and the target's features of position t: the
hidden states of a low, a middle and a high layer through `fc` or, beyond what the target has read, the row
before. Its output guesses the token at position t + 2, among the draft's own vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float
from mlx_lm.models import qwen3
from mlx_lm.models.base import create_attention_mask
from mlx_lm.models.llama import MLP, Attention, ModelArgs

from mlx_spec.drafters.head import Head


@dataclass(frozen=True, slots=True)
class EagleShape:
    """Sizes of a head."""

    args: ModelArgs
    """Of the layer; `vocab_size` is the target's."""
    target_hidden: int
    taps: tuple[int, ...]
    """Layers of the target whose outputs `fc` reads, lowest first."""
    tokens: tuple[int, ...]
    """The target's id of each token of the draft's vocabulary, ascending."""
    fc_norm: bool = False
    """Whether each tap is normalised before `fc` (EAGLE-3.1): states may be of very unlike size."""
    norm_before_fc: bool = False
    """Whether all taps together are normalised before `fc`."""
    norm_before_residual: bool = False
    """Whether the layer adds to the normalised hidden state."""
    norm_output: bool = False
    """Whether a row is normalised before the next row reads it (EAGLE-3.1)."""
    qk_norm: bool = False
    """Whether queries and keys are normalised, as Qwen3's are."""


class EagleLayer(nn.Module):
    """A decoder layer whose attention reads the token's embedding beside the hidden state."""

    def __init__(self, shape: EagleShape):
        super().__init__()
        args: Any = shape.args
        dim, eps = args.hidden_size, args.rms_norm_eps
        self._norm_before_residual = shape.norm_before_residual
        self.self_attn = qwen3.Attention(args) if shape.qk_norm else Attention(args)
        for name in ("q_proj", "k_proj", "v_proj"):
            rows = self.self_attn[name].weight.shape[0]
            self.self_attn[name] = nn.Linear(2 * dim, rows, bias=False)
        self.mlp = MLP(args)
        self.input_layernorm = nn.RMSNorm(dim, eps)
        self.hidden_norm = nn.RMSNorm(dim, eps)
        self.post_attention_layernorm = nn.RMSNorm(dim, eps)

    def joined(self, embedded: mx.array, hidden: mx.array) -> mx.array:
        """What attention reads: `[b, rows, 2 dim]`."""
        return mx.concatenate([self.input_layernorm(embedded), self.hidden_norm(hidden)], axis=-1)

    def after(self, hidden: mx.array, attended: mx.array) -> mx.array:
        """The rest of the layer."""
        hidden = hidden + attended
        return hidden + self.mlp(self.post_attention_layernorm(hidden))

    def __call__(self, embedded: mx.array, hidden: mx.array, mask: Any, cache: Any) -> mx.array:
        attended = self.self_attn(self.joined(embedded, hidden), mask, cache)
        return self.after(self.hidden_norm(hidden) if self._norm_before_residual else hidden, attended)


class EagleHead(Head):
    """The head, with the target's embeddings, which are not among its weights.

    Raises:
        UnsupportedModel: it is of another target.
    """

    def __init__(self, shape: EagleShape, target: nn.Module):
        args = shape.args
        super().__init__(target, shape.tokens, args.vocab_size, shape.target_hidden, args.hidden_size)
        self.shape, self.taps = shape, shape.taps
        self.width = args.hidden_size
        """Of a feature."""
        if shape.fc_norm:
            self.fc_norm = [nn.RMSNorm(shape.target_hidden, args.rms_norm_eps) for _ in shape.taps]
        if shape.norm_before_fc:
            self.input_norm = nn.RMSNorm(len(shape.taps) * shape.target_hidden, args.rms_norm_eps)
        self.fc = nn.Linear(len(shape.taps) * shape.target_hidden, args.hidden_size, bias=False)
        self.midlayer = EagleLayer(shape)
        self.norm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)
        self.lm_head = nn.Linear(args.hidden_size, len(shape.tokens), bias=False)

    @property
    def layers(self) -> list[nn.Module]:
        """As mlx-lm's models have them."""
        return [self.midlayer]

    def embedded(self, ids: mx.array) -> mx.array:
        """By the target's embeddings."""
        return self._embed(ids)

    def features(
        self, states: Sequence[Float[mx.array, "b rows target_dim"]]
    ) -> Float[mx.array, "b rows dim"]:
        """Features of each row, from the outputs of the tapped layers, lowest first."""
        if self.shape.fc_norm:
            states = [norm(x) for norm, x in zip(self.fc_norm, states, strict=True)]
        together = mx.concatenate(list(states), axis=-1)
        return self.fc(self.input_norm(together) if self.shape.norm_before_fc else together)

    def __call__(self, ids: mx.array, cache: Any = None, hidden: mx.array | None = None) -> mx.array:
        """Its rows `[b, rows, dim]`, for `logits` and for later rows. Called as mlx-lm's models are."""
        embedded = self.embedded(ids)
        if hidden is None:  # passes of `Probe`
            hidden = mx.zeros_like(embedded)
        caches = cache or [None] * len(self.layers)
        mask = create_attention_mask(embedded, caches[0])
        rows = self.midlayer(embedded.astype(hidden.dtype), hidden, mask, caches[0])
        for layer, own in zip(self.layers[1:], caches[1:], strict=True):
            rows = layer(rows, mask, own)
        return self.norm(rows) if self.shape.norm_output else rows

    def guesses(self, states: Float[mx.array, "b rows dim"]) -> Float[mx.array, "b rows draft_vocab"]:
        """Logits over the draft's own vocabulary."""
        return self.lm_head(states if self.shape.norm_output else self.norm(states))
