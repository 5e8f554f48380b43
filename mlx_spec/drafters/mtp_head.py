"""A target's own layer for multi-token prediction (DeepSeek-AI 2024, arXiv 2412.19437, section 2.2; as
Qwen3.5's code and vLLM's `qwen3_next_mtp.py` have it).

Its row t reads the token after position t and the target's last hidden state of position t or, beyond what
the target has read, its own row before. Embeddings, last norm and output rows are the target's.
"""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float
from mlx_lm.models.base import create_attention_mask

from mlx_spec.drafters.draft_head import EMBEDDINGS, output_layer_of
from mlx_spec.drafters.head import Head
from mlx_spec.drafters.medusa_head import final_norm


class MtpHead(Head):
    """The layer, with the two norms and the product before it.

    Args:
        layer: a decoder layer with full attention, of the target's kind.
        vocab: tokens of the target that it was made for.
        width: of that target's hidden states.
        eps: of the norms.
        latent: whether it attends to latent vectors: mlx-lm's code for that takes no mask but an array.

    Raises:
        UnsupportedModel: it is of another target, or the target's last norm cannot be identified.
    """

    def __init__(
        self, target: nn.Module, layer: nn.Module, vocab: int, width: int, eps: float, latent: bool = False
    ):
        super().__init__(target, range(vocab), vocab, width)
        self._last_norm, self.width, self._latent = final_norm(target), width, latent
        self.taps = (len(target.layers) - 1,)  # type: ignore[arg-type]
        """Layers of the target whose outputs it reads."""
        rows = output_layer_of(target)
        self._rows = rows.as_linear if isinstance(rows, EMBEDDINGS) else rows
        self.pre_fc_norm_embedding = nn.RMSNorm(width, eps)
        self.pre_fc_norm_hidden = nn.RMSNorm(width, eps)
        self.fc = nn.Linear(2 * width, width, bias=False)
        self.layers = [layer]
        """As mlx-lm's models have them."""
        self.norm = nn.RMSNorm(width, eps)

    def features(self, states: Sequence[Float[mx.array, "b rows dim"]]) -> Float[mx.array, "b rows dim"]:
        """The target's last hidden state of each row, from the outputs of its last layer."""
        return self._last_norm(states[0])

    def __call__(self, ids: mx.array, cache: Any = None, hidden: mx.array | None = None) -> mx.array:
        """Its rows `[b, rows, dim]`, for `logits` and for later rows. Called as mlx-lm's models are."""
        embedded = self._embed(ids)
        if hidden is None:  # passes of `Probe`
            hidden = mx.zeros_like(embedded)
        read = [self.pre_fc_norm_embedding(embedded.astype(hidden.dtype)), self.pre_fc_norm_hidden(hidden)]
        x = self.fc(mx.concatenate(read, axis=-1))
        cache = cache[0] if cache else None
        mask = create_attention_mask(x, cache, return_array=self._latent)
        return self.norm(self.layers[0](x, mask, cache))

    def guesses(self, states: Float[mx.array, "b rows dim"]) -> Float[mx.array, "b rows vocab"]:
        """Logits, by the target's output rows."""
        return self._rows(states)
