"""A draft model that guesses among frequent tokens only: each step has a smaller vocabulary projection.

FR-Spec (Zhao et al. 2025, arXiv 2502.14856). Lossless: the target verifies as always, and tokens outside the
list are never drafted.
"""

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float, Int

from mlx_spec.errors import BadOption, UnsupportedModel
from mlx_spec.token_ids import token_ids

EMBEDDINGS = (nn.Embedding, nn.QuantizedEmbedding)
LINEARS = (nn.Linear, nn.QuantizedLinear)


class FrequentLinear(nn.Module):
    """A vocabulary projection that computes the rows of some tokens; all others are -inf."""

    def __init__(self, whole: nn.Module, tokens: mx.array):
        super().__init__()
        self.rows = _height(whole)
        self.few = few_rows(whole, tokens)
        self.tokens = tokens

    def __call__(self, x: mx.array) -> mx.array:
        return spread(self.few(x), self.tokens, self.rows)


class FrequentEmbedding(FrequentLinear):
    """Tied embeddings: whole on the way in, some tokens on the way out."""

    def __init__(self, whole: nn.Module, tokens: mx.array):
        super().__init__(whole, tokens)
        self.whole = whole

    def __call__(self, x: mx.array) -> mx.array:
        return self.whole(x)

    def as_linear(self, x: mx.array) -> mx.array:
        return spread(self.few.as_linear(x), self.tokens, self.rows)


def spread(
    logits: Float[mx.array, "*rows few"], tokens: Int[mx.array, "... few"], vocab: int
) -> Float[mx.array, "*rows vocab"]:
    """The logits of some tokens among all; -inf for the others."""
    whole = mx.full((*logits.shape[:-1], vocab), -mx.inf, logits.dtype)
    return mx.put_along_axis(whole, mx.broadcast_to(tokens, logits.shape), logits, axis=-1)


def embedding_of(model: nn.Module) -> Any:
    """The layer that embeds tokens: of all such layers the one with most rows.

    Raises:
        UnsupportedModel: it has none.
    """
    tables = [table for _, _, table in _children(model) if isinstance(table, EMBEDDINGS)]
    if not tables:
        kind = type(model).__module__.rpartition(".")[2]
        raise UnsupportedModel(f"{kind} has no layer that embeds tokens. Use a drafter that reads none.")
    return max(tables, key=_height)


def output_layer_of(model: nn.Module) -> Any:
    """The vocabulary projection: the last linear layer with a row for each token, else the embedding layer,
    by `as_linear`. Raises as `embedding_of`."""
    table = embedding_of(model)
    output = [m for m in model.modules() if isinstance(m, LINEARS) and _height(m) == _height(table)]
    return output[-1] if output else table


def restrict_head(model: nn.Module, tokens: Iterable[int]) -> None:
    """Let `model` give logits for `tokens` only, in place.

    Args:
        tokens: ids in any order. Those beyond the model's vocabulary are left out: tokenizers know such ids.

    Raises:
        BadOption: none of them is a token of the model, or one is negative or no whole number.
        UnsupportedModel: its vocabulary projection cannot be told from its other layers, or its code reads
            the weights of that itself.
    """
    tables = [place for place in _children(model) if isinstance(place[2], EMBEDDINGS)]
    vocab = max((_height(table) for _, _, table in tables), default=0)
    untied = [
        place for place in _children(model) if isinstance(place[2], LINEARS) and _height(place[2]) == vocab
    ]
    heads = untied or [place for place in tables if _height(place[2]) == vocab]
    code = type(model).__module__.rpartition(".")[2]
    if len(heads) != 1:
        raise UnsupportedModel(
            f"{code} has {len(heads)} layers that could be its vocabulary projection. "
            "Use this draft without --draft-head."
        )
    kept = sorted({token for token in token_ids(tokens, "draft_head") if token < vocab})
    if not kept:
        raise BadOption(
            f"draft_head holds none of the draft model's {vocab} tokens. Give some of them, or leave it out."
        )
    parent, name, whole = heads[0]
    kind = FrequentEmbedding if isinstance(whole, EMBEDDINGS) else FrequentLinear
    setattr(parent, name, kind(whole, mx.array(kept, mx.int32)))
    try:
        model(mx.zeros((1, 1), mx.int32))  # built, not run
    except AttributeError as error:  # h @ embed_tokens.weight.T
        setattr(parent, name, whole)
        raise UnsupportedModel(
            f"{code} computes all rows of its vocabulary projection. Use this draft without --draft-head."
        ) from error


def _children(model: nn.Module) -> Iterator[tuple[nn.Module, str, nn.Module]]:
    for _, parent in model.named_modules():
        for name, child in parent.items():
            if isinstance(child, nn.Module):
                yield parent, name, child


def _height(layer: nn.Module) -> int:
    return layer["weight"].shape[0]


def few_rows(layer: nn.Module, tokens: mx.array) -> Any:
    """The layer with some of its rows."""
    few = copy(layer)
    for name, array in layer.items():
        if isinstance(array, mx.array):
            few[name] = array[tokens]
    return few
