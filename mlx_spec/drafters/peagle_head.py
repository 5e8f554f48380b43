"""A head that drafts all its tokens in one pass, laid out as P-EAGLE checkpoints are (arXiv 2602.01469).

An EAGLE-3 head with further decoder layers. In place of an unknown token it reads its mask, and in place of
the features of a position that the target has not read, `fc` of `mask_hidden` (speculators' `models/peagle`,
vLLM's `llama_eagle3.py`).
"""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float
from mlx_lm.models import llama, qwen3

from mlx_spec.drafters.eagle_head import EagleHead, EagleShape
from mlx_spec.errors import UnsupportedModel


class PEagleHead(EagleHead):
    """The head.

    Args:
        mask: id of the mask token.
        depth: tokens that it was trained to guess at once.
        embeds: whether it has embeddings of its own; else it uses the target's.

    Raises:
        UnsupportedModel: it is of another target, or the mask is not in its vocabulary.
    """

    def __init__(self, shape: EagleShape, target: nn.Module, mask: int, depth: int, *, embeds: bool):
        super().__init__(shape, target)
        args: Any = shape.args
        if not 0 <= mask < args.vocab_size:
            raise UnsupportedModel(
                f"Its mask is token {mask}, and it has {args.vocab_size} tokens. Use another head."
            )
        self.mask, self.depth, self._embeds = mask, depth, embeds
        block: Any = qwen3.TransformerBlock if shape.qk_norm else llama.TransformerBlock
        self.deeper: list[Any] = [block(args) for _ in range(args.num_hidden_layers - 1)]
        self.mask_hidden = mx.zeros((len(shape.taps) * shape.target_hidden,))
        if embeds:
            self.embed_tokens = nn.Embedding(args.vocab_size, args.hidden_size)

    @property
    def layers(self) -> list[nn.Module]:
        """As mlx-lm's models have them."""
        return [self.midlayer, *self.deeper]

    @property
    def masked(self) -> Float[mx.array, "1 1 dim"]:
        """The features that it reads for positions without any yet."""
        return self.features(list(mx.split(self.mask_hidden[None, None], len(self.taps), axis=-1)))

    def embedded(self, ids: mx.array) -> mx.array:
        """By its own embeddings, or the target's."""
        return self.embed_tokens(ids) if self._embeds else super().embedded(ids)

    def __call__(self, ids: mx.array, cache: Any = None, hidden: mx.array | None = None) -> mx.array:
        """The same; `hidden` is of the first rows, the others are masked."""
        if hidden is not None:
            rest = (len(ids), ids.shape[1] - hidden.shape[1], hidden.shape[2])
            masked = mx.broadcast_to(self.masked.astype(hidden.dtype), rest)
            hidden = mx.concatenate([hidden, masked], axis=1)
        return super().__call__(ids, cache, hidden)
