"""What a head on a target's hidden states should bring on a Mac: a prediction, as in roofline.py.

An EAGLE-3 head (Li et al. 2025, arXiv 2503.01840) is one layer over the target's own features: three of its
layers' outputs, joined by `fc`, and a head of its own over the target's most frequent tokens. A round reads
length + 1 new rows of features (the first drafted token), then takes one row per further token.

Pure functions of tables; imports no MLX.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from models.speed.chips import Chip
from models.speed.roofline import CONTEXT, ROUND_SECONDS, Model, Shape, pass_seconds

TAPS = 3
"""Layers of the target that an EAGLE-3 head reads, where it does not say otherwise."""


@dataclass(frozen=True, slots=True)
class Head:
    """Sizes of a head; its tensors are those of SafeAILab/EAGLE."""

    name: str
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    """Tokens that it guesses among."""
    bits: float
    """Per weight as stored, scales included."""
    accepted: tuple[float, ...]
    """How often draft position i is accepted, with all before it."""
    source: str
    """Where `accepted` is from."""
    taps: int = TAPS

    @property
    def fc_parameters(self) -> int:
        return self.taps * self.hidden * self.hidden

    @property
    def step_parameters(self) -> int:
        """What one drafted token reads. Queries, keys and values are of embedding and feature."""
        inputs = 2 * self.hidden * (self.heads + 2 * self.kv_heads) * self.head_dim
        output = self.heads * self.head_dim * self.hidden
        return inputs + output + 3 * self.hidden * self.intermediate + self.vocab * self.hidden

    def model(self, *, with_fc: bool = False) -> Model:
        """The head as a model of one layer."""
        parameters = self.step_parameters + with_fc * self.fc_parameters
        kv = 2 * self.kv_heads * self.head_dim * 2
        return Model(Shape([self.name], parameters / 1e9, 1, kv), self.bits)

    def tokens(self, length: int) -> float:
        """Of a round that drafts `length`: the accepted ones and the bonus."""
        return 1 + sum(self.accepted[:length])


def conditional(rates: Sequence[float]) -> tuple[float, ...]:
    """`accepted` from acceptances that are each given all before."""
    return tuple(accumulate(rates, lambda before, rate: before * rate))


def step_seconds(head: Head, chip: Chip, *, rows: int = 1, context: int = CONTEXT) -> float:
    """One step of drafting; with several rows the one that reads the target's features."""
    return pass_seconds(head.model(with_fc=rows > 1), chip, rows=rows, context=context)


def round_seconds(target: Model, head: Head, chip: Chip, length: int, context: int = CONTEXT) -> float:
    """A round that drafts `length` tokens: the head's steps, the target's pass, the host's read."""
    rows = length + 1
    steps = step_seconds(head, chip, rows=rows, context=context)
    steps += (length - 1) * step_seconds(head, chip, context=context)
    return steps + pass_seconds(target, chip, rows=rows, context=context) + ROUND_SECONDS


def best(target: Model, head: Head, chip: Chip) -> tuple[float, int]:
    """The most tokens per second, and the draft length that brings them; 0: drafting should not pay."""
    speeds = [1 / pass_seconds(target, chip)]
    for length in range(1, len(head.accepted) + 1):
        speeds.append(head.tokens(length) / round_seconds(target, head, chip, length))
    return max(speeds), speeds.index(max(speeds))
