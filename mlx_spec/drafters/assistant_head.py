"""A small model that attends to its target's keys and values, laid out as Gemma 4's assistants are.

Equations: transformers' `modeling_gemma4_assistant.py`; vLLM's `gemma4_mtp.py` for the soft cap. Its layers
are Gemma 4's with queries alone. A step reads the newest token and the target's last hidden state or, in
later steps, the output of the step before; it writes no keys and values.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float, Int
from mlx_lm.models.gemma4_text import DecoderLayer, ModelArgs, logit_softcap

from mlx_spec.drafters.draft_head import spread
from mlx_spec.drafters.head import Head
from mlx_spec.drafters.medusa_head import final_norm

SLIDING = "sliding_attention"
"""The kind of a layer with a window: the assistant's own, if the target's is wider."""


@dataclass(frozen=True, slots=True)
class AssistantShape:
    """Sizes of an assistant."""

    args: ModelArgs
    """Of its layers, all of which share keys and values; `vocab_size` is the target's."""
    target_hidden: int
    reads: Mapping[str, int]
    """By kind of its layers: the target's layer whose keys and values they read."""
    softcap: float | None = None
    """Of its logits, where it guesses among all tokens."""
    likely: int = 0
    """Clusters of its vocabulary whose tokens it guesses among; 0: it guesses among all tokens."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the layers of one kind read, the same at every step of a draft."""

    keys: Float[mx.array, "b kv_heads rows dim"]
    values: Float[mx.array, "b kv_heads rows dim"]
    mask: Any
    """As mlx-lm's attention takes it."""
    position: int | Int[mx.array, " b"]
    """Of the last token that the target has read: there the engines put every step's query (vLLM's
    `gemma4.py`, mlx-vlm), and transformers one later."""


class AssistantHead(Head):
    """The assistant, with the target's embeddings and last norm, which are not among its weights.

    Args:
        clusters: the tokens of each, `[clusters, tokens]`.

    Raises:
        UnsupportedModel: it is of another target.
    """

    def __init__(
        self, shape: AssistantShape, target: nn.Module, clusters: Int[mx.array, "clusters each"] | None = None
    ):
        args = shape.args
        super().__init__(target, range(args.vocab_size), args.vocab_size, shape.target_hidden)
        self.shape, self._clusters, self._norm = shape, clusters, final_norm(target)
        self.taps = (len(target.layers) - 1,)  # type: ignore[arg-type]
        """Layers of the target whose outputs it reads."""
        self.pre_projection = nn.Linear(2 * shape.target_hidden, args.hidden_size, bias=False)
        self.layers = [DecoderLayer(args, i) for i in range(args.num_hidden_layers)]
        self.norm = nn.RMSNorm(args.hidden_size, args.rms_norm_eps)
        self.post_projection = nn.Linear(args.hidden_size, shape.target_hidden, bias=False)
        self.lm_head = nn.Linear(args.hidden_size, args.vocab_size, bias=False)
        if clusters is not None:
            self.centroids = nn.Linear(args.hidden_size, len(clusters), bias=False)

    def features(self, states: Sequence[Float[mx.array, "b rows dim"]]) -> Float[mx.array, "b rows dim"]:
        """The target's last hidden state of each row, from the outputs of its last layer."""
        return self._norm(states[0])

    def __call__(
        self, ids: Int[mx.array, "b 1"], hidden: Float[mx.array, "b 1 target_dim"], seen: Mapping[str, Seen]
    ) -> Float[mx.array, "b 1 dim"]:
        """One step, for `logits` and `next_hidden`; `seen` is by kind of layer."""
        embedded = self._embed(ids).astype(hidden.dtype) * self.shape.target_hidden**0.5
        x = self.pre_projection(mx.concatenate([embedded, hidden], axis=-1))
        for layer in self.layers:
            own = seen[layer.layer_type]
            x, _, _ = layer(x, own.mask, shared_kv=(own.keys, own.values), offset=own.position)
        return self.norm(x)

    def next_hidden(self, states: Float[mx.array, "b 1 dim"]) -> Float[mx.array, "b 1 target_dim"]:
        """What the next step reads in place of the target's hidden state."""
        return self.post_projection(states)

    def guesses(self, states: Float[mx.array, "b rows dim"]) -> Float[mx.array, "b rows vocab"]:
        """Logits; -inf for tokens outside the likely clusters, where it has clusters."""
        if self._clusters is None:
            logits, cap = self.lm_head(states), self.shape.softcap
            return logits if cap is None else logit_softcap(cap, logits)
        likely = mx.argpartition(-self.centroids(states), self.shape.likely - 1, axis=-1)
        tokens = self._clusters[likely[..., : self.shape.likely]].flatten(-2)
        return spread(_products(self.lm_head, tokens, states), tokens, self.vocab)


def _products(layer: Any, tokens: mx.array, states: mx.array) -> mx.array:
    """Products of each state with its own few rows of a layer, `[b, rows, few]`."""
    x, weight = states[..., None, :], layer.weight[tokens]
    if not isinstance(layer, nn.QuantizedLinear):
        return (x @ weight.swapaxes(-1, -2)).squeeze(-2)
    biases = layer.get("biases")
    return mx.quantized_matmul(
        x, weight, layer.scales[tokens], None if biases is None else biases[tokens],
        group_size=layer.group_size, bits=layer.bits, mode=layer.mode,
    ).squeeze(-2)  # fmt: skip
