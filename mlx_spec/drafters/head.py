"""Base of heads on a target's hidden states: made for one target, with a vocabulary of their own."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float, Int

from mlx_spec.drafters.draft_head import embedding_of, spread
from mlx_spec.errors import UnsupportedModel


class Head(nn.Module):
    """A head that was made for a target of these sizes.

    Args:
        tokens: the target's id of each token of the head's own vocabulary, ascending.
        vocab: tokens of the target.
        hidden: widths of the target's hidden states that the head reads.

    Raises:
        UnsupportedModel: the target has other sizes.
    """

    def __init__(self, target: nn.Module, tokens: Sequence[int], vocab: int, *hidden: int):
        super().__init__()
        self._embed = embedding_of(target)
        self._tokens, self.vocab = mx.array(list(tokens), mx.int32), vocab
        rows, width = self._embed.weight.shape[0], width_of(self._embed)
        if rows != vocab or any(each != width for each in hidden):
            raise UnsupportedModel(
                f"This head is of a target with {vocab} tokens and {hidden[0]} numbers "
                f"per hidden state; this target has {rows} and {width}. Use a head made for this target."
            )

    @property
    def tokens(self) -> Int[mx.array, " draft_vocab"]:
        """The target's id of each token of its vocabulary."""
        return self._tokens

    @property
    def dtype(self) -> mx.Dtype:
        """Of the target's states."""
        return self._embed(mx.zeros((1,), mx.int32)).dtype

    @abstractmethod
    def guesses(self, states: Float[mx.array, "b rows dim"]) -> Float[mx.array, "b rows ... draft_vocab"]:
        """Logits over the head's own vocabulary."""

    def logits(self, states: Float[mx.array, "b rows dim"]) -> Float[mx.array, "b rows ... vocab"]:
        """Logits over the target's vocabulary: -inf outside the head's own."""
        return self.spread(self.guesses(states))

    def spread(self, guesses: Float[mx.array, "b ... draft_vocab"]) -> Float[mx.array, "b ... vocab"]:
        """Logits over the head's vocabulary, placed in the target's."""
        known = guesses.shape[-1] == self.vocab
        return guesses if known else spread(guesses, self._tokens, self.vocab)


def width_of(embedding: Any) -> int:
    """Width of a token's embedding."""
    return embedding(mx.zeros((1,), mx.int32)).shape[-1]
