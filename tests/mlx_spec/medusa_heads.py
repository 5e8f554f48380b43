"""Medusa heads on a tiny target, and what they should draft, computed from the text alone."""

from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlx_spec.drafters.medusa_head import MedusaHead, MedusaShape, medusa_taps
from mlx_spec.target.model import Model
from mlx_spec.training import study
from mlx_spec.training.fit import Batch, places
from tests.mlx_spec.heads import learn
from tests.mlx_spec.tiny_models import VOCAB, settled, tiny_llama

HEADS = 4


def target(seed: int = 0) -> nn.Module:
    """A model whose last norm matters: without it, or with it twice, heads would guess other tokens."""
    model: Any = tiny_llama(seed)
    model.model.norm.weight = 0.5 + mx.random.uniform(shape=(32,), key=mx.random.key(seed))
    return model


def head_for(
    model: nn.Module, tokens: tuple[int, ...] = tuple(range(VOCAB)), *, layers: int = 1, shared: bool = True
) -> MedusaHead:
    shape = MedusaShape(HEADS, layers, 32, VOCAB, tokens, shared)
    mx.random.seed(5)  # for the biases, which `settled` leaves
    return settled(MedusaHead(shape, model), 5, spread=1.0)  # type: ignore[return-value]


def trained(texts: list[list[int]], rounds: int) -> MedusaHead:
    """Heads overfitted to these texts of `target`."""
    model = target()
    head, tapped = head_for(model, layers=2), Model(target(), taps=medusa_taps(model))
    batch = Batch([study.study(tapped, study.Text(text, 0, True)) for text in texts],
                  places(head.shape.tokens, VOCAB))  # fmt: skip

    def guesses() -> list[mx.array]:
        by_head = head.guesses(batch.states)
        return [by_head[:, :, i] for i in range(HEADS)]

    learn(head, batch, guesses, rounds)
    return head


def guesses(head: MedusaHead, text: list[int]) -> np.ndarray:
    """Logits `[heads, vocab]` after `text`, -inf outside the heads' vocabulary: by the paper's equations."""
    model: Any = target()
    state, found = np.array(model.model(mx.array([text[:-1]]))[0, -1]), np.full((HEADS, VOCAB), -np.inf)
    for i in range(HEADS):
        layers: list[Any] = list(head.heads[i])
        x = state
        rows = head.lm_head if head.shape.shared else layers.pop()
        for layer in layers:
            z = np.array(layer.linear.weight) @ x + np.array(layer.linear.bias)
            x = x + z / (1 + np.exp(-z))
        found[i, list(head.shape.tokens)] = np.array(rows.weight) @ x
    return found


def ranked(head: MedusaHead, text: list[int]) -> list[list[int]]:
    """Tokens that each head guesses after `text`, likeliest first."""
    return np.argsort(-guesses(head, text)).tolist()
