"""MTP layers, in numpy from their equations."""

from collections.abc import Mapping
from typing import Any

import mlx.core as mx
import numpy as np

from mlx_spec.drafters.draft_head import embedding_of, output_layer_of
from tests.mlx_spec.equations import attended, by_head, mlp, normed, turned


def last_states(target: Any, written: list[int]) -> mx.array:
    """The target's last hidden state of each token, `[1, tokens, dim]`."""
    found = target.language_model.model.embed_tokens(mx.array([written]))
    for layer in target.layers:
        mask = None if layer.is_linear else "causal"
        found = layer(found, mask=mask)
    return found


class ByHand:
    """Qwen3.5's layer, from its equations: a whole pass over the text for each token."""

    states_of = staticmethod(last_states)

    def __init__(self, weights: Mapping[str, np.ndarray], target: Any):
        inner = getattr(target, "language_model", target)
        self.w, self.target, self.args = weights, target, inner.args
        self.norm = np.array(inner.model.norm.weight)
        self.embedding = np.array(embedding_of(target).weight)
        self.rows = np.array(output_layer_of(target).weight)

    def draft(self, written: list[int], depth: int) -> tuple[np.ndarray, list[int]]:
        """Logits, `[depth, vocab]`, each after the most likely token of the one before; and these tokens."""
        last = np.array(self.states_of(self.target, written[:-1]))[0]
        hidden, ids, logits = normed(last, self.norm, self.args.rms_norm_eps), written[1:], []
        for _ in range(depth):
            row = self._states(hidden, ids)[-1:]
            logits.append((row @ self.rows.T)[0])
            hidden, ids = np.concatenate([hidden, row]), [*ids, int(logits[-1].argmax())]
        return np.stack(logits), ids[-depth:]

    def _states(self, hidden: np.ndarray, ids: list[int]) -> np.ndarray:
        w, eps, at = self.w, self.args.rms_norm_eps, "layers.0."
        read = [
            normed(self.embedding[ids], w["pre_fc_norm_embedding.weight"], eps),
            normed(hidden, w["pre_fc_norm_hidden.weight"], eps),
        ]
        x = np.concatenate(read, axis=-1) @ w["fc.weight"].T
        x = x + self._attention(normed(x, w[f"{at}input_layernorm.weight"], eps))
        x = x + self._mlp(normed(x, w[f"{at}post_attention_layernorm.weight"], eps))
        return normed(x, w["norm.weight"], eps)

    def _mlp(self, x: np.ndarray) -> np.ndarray:
        return mlp(self.w, "layers.0.mlp", x)

    def _attention(self, x: np.ndarray) -> np.ndarray:
        """Half of the query projection is a gate, and only a part of each head is rotated."""
        w, args, at, rows = self.w, self.args, "layers.0.self_attn.", np.arange(len(x))
        both = (x @ w[f"{at}q_proj.weight"].T).reshape(len(x), args.num_attention_heads, 2, args.head_dim)
        q, gate = both[:, :, 0].transpose(1, 0, 2), both[:, :, 1].reshape(len(x), -1)
        k, v = (by_head(x @ w[f"{at}{name}_proj.weight"].T, args.num_key_value_heads) for name in "kv")
        turns = int(args.head_dim * args.partial_rotary_factor)

        def placed(y: np.ndarray, name: str) -> np.ndarray:
            y = normed(y, w[f"{at}{name}_norm.weight"], args.rms_norm_eps)
            return np.concatenate([turned(y[..., :turns], rows, args.rope_theta), y[..., turns:]], axis=-1)

        found = attended(placed(q, "q"), placed(k, "k"), v, rows[:, None] >= rows)
        return (found / (1 + np.exp(-gate))) @ w[f"{at}o_proj.weight"].T
