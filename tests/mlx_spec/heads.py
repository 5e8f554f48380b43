"""Heads on tiny targets, and what they should draft, computed from the text alone."""

import itertools
import random
from collections.abc import Callable, Sequence
from functools import cache

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx_lm.models.llama import ModelArgs

from mlx_spec import Engine, Options
from mlx_spec.arrays import Length, Pass
from mlx_spec.candidate import NO_CANDIDATE
from mlx_spec.drafters.eagle_head import EagleHead, EagleShape
from mlx_spec.policy.policy import Fixed
from mlx_spec.target.model import Model
from mlx_spec.training import study, unroll
from mlx_spec.training.fit import Batch, places
from mlx_spec.verify import copies
from tests.mlx_spec.tiny_models import VOCAB, fitted, settled, tiny_llama

TAPS = (0, 1, 2)
KNOWN = tuple(range(0, VOCAB, 2)) + (VOCAB - 1,)


def target(seed: int = 0) -> nn.Module:
    return tiny_llama(seed, layers=4)


def head_for(model: nn.Module, seed: int = 5, tokens: tuple[int, ...] = tuple(range(VOCAB))) -> EagleHead:
    args = ModelArgs("llama", 32, 1, 64, 4, 1e-5, VOCAB, head_dim=8, num_key_value_heads=2)
    return settled(EagleHead(EagleShape(args, 32, TAPS, tokens, fc_norm=True), model), seed, spread=1.0)  # type: ignore[return-value]


def trained(texts: list[list[int]], rounds: int) -> EagleHead:
    """A head overfitted to these texts of `target`."""
    head = head_for(target())
    studies = [study.study(tapped(), study.Text(text, 0, True)) for text in texts]
    batch = Batch(studies, places(head.shape.tokens, VOCAB))
    learn(head, batch, lambda: unroll.unrolled(head, batch.tokens, batch.states, 3), rounds)
    return head


def learn(head: nn.Module, batch: Batch, guesses: Callable[[], unroll.Guesses], rounds: int) -> None:
    """Train a head on a batch."""
    labels = mx.maximum(batch.labels, 0)
    fitted(head, lambda: unroll.loss(guesses(), labels, batch.probs, batch.counted), rounds, 3e-3)


@cache
def tapped() -> Model:
    return Model(target(), taps=TAPS)


def states_of(text: list[int]) -> list[mx.array]:
    """The target's hidden states, `[1, tokens, dim]` by tapped layer, from one plain pass."""
    output = tapped().forward(Pass(mx.array([text]), Length.exact(0)))
    return [output.hidden[layer] for layer in TAPS]


def drafts(
    engine: Engine, ids: list[int], drafter: str, **options
) -> list[tuple[list[int], tuple[int, ...]]]:
    """(the text before each round that drafted, its draft), without copies from the text."""
    found, written = [], list(ids)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copies, "mixed", lambda logits, *_: logits)
        for read in engine.generate(ids, Options(drafter=drafter, **options)):
            found += [(list(written), read.drafted)] if read.drafted else []
            written += read.tokens
    return found


class Uneven(Fixed):
    """A policy with these draft lengths in turn; at 0 the round is plain."""

    def __init__(self, lengths: Sequence[int]):
        self._lengths = itertools.cycle(lengths)

    def choose(self, candidates, length):
        k = next(self._lengths)
        return (candidates[0], k) if k else (NO_CANDIDATE, 0)


def shuffled(seed: int, count: int) -> list[int]:
    return random.Random(seed).choices(range(1, VOCAB), k=count)
