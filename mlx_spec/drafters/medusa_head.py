"""Heads on a target's last hidden state, laid out as Medusa's are (Cai et al. 2024, arXiv 2401.10774).

Head i reads the target's last hidden state of a token, after the last norm, and guesses the token i + 1
positions after the target's next one: `rows(x + SiLU(W x + b))`.

Published heads have output rows each, for the target's whole vocabulary. Those that are trained here share
theirs, for a vocabulary of their own, as vLLM's may: with 8192 tokens of 576 numbers, 4.7 of a head's 5.0
million numbers would be rows, and four heads take 20 MB at 8 bits in place of 6.
"""

from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float

from mlx_spec.drafters.draft_head import embedding_of
from mlx_spec.drafters.head import Head, width_of
from mlx_spec.errors import UnsupportedModel
from mlx_spec.target.taps import stack_of


@dataclass(frozen=True, slots=True)
class MedusaShape:
    """Sizes of the heads."""

    heads: int
    layers: int
    """Of each head, before its output rows."""
    hidden: int
    """Width of the target's hidden state."""
    vocab: int
    """Tokens of the target."""
    tokens: tuple[int, ...]
    """The target's id of each token of the heads' vocabulary, ascending."""
    shared: bool = True
    """Whether all have the same output rows."""


class Residual(nn.Module):
    """One layer of a head, initialised to change hardly anything."""

    def __init__(self, hidden: int):
        super().__init__()
        self.linear = nn.Linear(hidden, hidden)
        self.linear.weight = mx.zeros_like(self.linear.weight)

    def __call__(self, x: mx.array) -> mx.array:
        return x + nn.silu(self.linear(x))


class MedusaHead(Head):
    """All heads, with the target's last norm, which is not among their weights.

    Raises:
        UnsupportedModel: they are of another target, or its last norm cannot be identified.
    """

    def __init__(self, shape: MedusaShape, target: nn.Module):
        super().__init__(target, shape.tokens, shape.vocab, shape.hidden)
        self.shape, self._norm, self.taps = shape, final_norm(target), medusa_taps(target)
        self.heads: list[list[nn.Module]] = [
            [Residual(shape.hidden) for _ in range(shape.layers)] for _ in range(shape.heads)
        ]
        if shape.shared:
            self.lm_head = _rows(shape)
        else:
            for layers in self.heads:
                layers.append(_rows(shape))

    def guesses(self, states: Float[mx.array, "b rows dim"]) -> Float[mx.array, "b rows heads draft_vocab"]:
        """Each head's logits over the draft's own vocabulary, from outputs of the target's last layer."""
        normed, found = self._norm(states), []
        for layers in self.heads:
            x = normed
            for layer in layers:
                x = layer(x)
            found.append(x)
        together = mx.stack(found, axis=-2)
        return self.lm_head(together) if self.shape.shared else together


def _rows(shape: MedusaShape) -> nn.Linear:
    return nn.Linear(shape.hidden, len(shape.tokens), bias=False)


def medusa_taps(target: Any) -> tuple[int, ...]:
    """The target's last layer; raises as `final_norm`."""
    final_norm(target)
    return (len(target.layers) - 1,)


def final_norm(target: Any) -> Any:
    """The norm between a target's last layer and its output rows: the only norm of that width beside its
    layers.

    Raises:
        UnsupportedModel: there is none, or more than one.
    """
    width, stack = width_of(embedding_of(target)), stack_of(target)
    beside = [m for m in target.modules() if any(child is stack for child in m.values())]
    norms = [
        layer
        for module in beside
        for layer in module.values()
        if type(layer).__name__.endswith("Norm") and "weight" in layer and layer.weight.shape == (width,)
    ]
    if len(norms) != 1:
        kind = type(target).__module__.rpartition(".")[2]
        raise UnsupportedModel(
            f"{kind} has {len(norms)} layers that could be its last norm, which this head reads from. "
            "Use another drafter with this target."
        )
    return norms[0]
