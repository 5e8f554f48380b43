"""Which layers of a target to leave out so that the others draft for it best.

SWIFT (Xia et al., ICLR 2025, arXiv 2410.06916) tells a set's worth by one pass over a text in which each row
reads what the target made of those before it, as a draft's first step does; the texts are the target's own,
so that runs of right choices are about what rounds of each length would accept. Layers are left out one by
one, the one whose loss is least first; first layers alone are tried too.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlx_spec.arrays import Length, Pass
from mlx_spec.drafters.layer_skip import LayerSkipDrafter, with_layers
from mlx_spec.target.model import Model

LONGEST = 7
"""Draft lengths that are weighed."""
TRIED_ANEW = 4
"""Layers tried for each one that is left out: those that seemed to be missed least the last time."""
WORTH = 1.1
"""A set that would not gain as much if it drafted in no time is not made smaller."""
TIMED_AT, TIMES = 64, 5
"""Context at which passes are timed, and how often."""

Text = tuple[Sequence[int], int]
"""Token ids, and where the target's own begin."""


@dataclass(frozen=True, slots=True)
class Found:
    """A set of layers, and what it is worth as a drafter."""

    layers: tuple[int, ...]
    """Those that are kept, ascending."""
    acceptance: tuple[float, ...]
    """For draft position i: how many are right, given that all before it were."""
    loss: float
    """Nats per token that the target chose."""
    draft_length: int
    """The best one."""
    gain: float
    """Expected tokens per second over plain decoding's; under 1 it does not pay."""
    ceiling: float
    """The gain if drafting took no time."""


NONE = Found((), (), 0.0, 0, 0.0, 0.0)
"""Before any set was tried."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of passes over one text here."""

    rows: Mapping[int, float]
    """Of the target, by rows; one among them."""
    one_layer: float
    """Of a drafter's step through one layer."""
    layers: int
    """The target has."""

    def step(self, kept: int) -> float:
        """A drafted token, by so many of the layers."""
        whole = self.rows[1]
        return float(np.interp(kept, [1, self.layers], [min(self.one_layer, whole), whole]))

    def passes(self) -> np.ndarray:
        """`[LONGEST + 1]`: those that verify 0, 1, ... drafted tokens."""
        return np.interp(np.arange(LONGEST + 1) + 1, list(self.rows), list(self.rows.values()))


def search(target: Any, texts: Sequence[Text], costs: Costs | None = None) -> Iterator[Found]:
    """The best set so far, after each that was tried; may be left at any time.

    Args:
        texts: greedy answers with their prompts. A few hundred tokens of answers tell good sets from bad.
        costs: what passes take; timed here if left out.

    Raises:
        UnsupportedModel: the target's layers cannot be left out one by one.
    """
    judge = Judge(target, texts, costs or timed(target))
    count = len(target.layers)
    best = NONE
    for first in range(count - 1, 0, -1):
        found = judge.found(range(first))
        best = max(best, found, key=_gain)
        yield best
        if found.ceiling <= max(best.gain, WORTH):
            break  # with fewer layers it is right less often
    kept, missed = set(range(count)), dict.fromkeys(range(count), 0.0)
    while len(kept) > 1:
        anew = sorted(kept, key=missed.__getitem__)[: TRIED_ANEW if len(kept) < count else count]
        without: dict[int, Found] = {}
        for layer in anew:
            without[layer] = found = judge.found(kept - {layer})
            missed[layer] = found.loss
            best = max(best, found, key=_gain)
            yield best
        least = min(anew, key=missed.__getitem__)
        if without[least].ceiling <= max(best.gain, WORTH):
            return
        kept.remove(least)


def _gain(found: Found) -> float:
    return found.gain


class Judge:
    """Tells sets of layers apart by one pass over each text."""

    def __init__(self, target: Any, texts: Sequence[Text], costs: Costs):
        self._target, self._costs = target, costs
        self._texts = [(mx.array([list(ids)], mx.int32), start) for ids, start in texts]
        self._rows = [_rows(target, ids) for ids, _ in texts]
        self._own = [mx.argmax(self._logits(target, i), axis=-1) for i in range(len(texts))]
        mx.eval(self._own)

    def found(self, layers: Collection[int]) -> Found:
        """What a set is worth."""
        view = with_layers(self._target, layers)
        right, losses = zip(*(self._judged(view, i) for i in range(len(self._texts))), strict=True)
        alive = _alive(right)
        passes, expected = self._costs.passes(), alive.cumsum()
        drafts = np.arange(LONGEST + 1) * self._costs.step(len(layers))
        gains, free = (expected * passes[0] / seconds for seconds in (passes + drafts, passes))
        k = 1 + int(gains[1:].argmax())
        return Found(
            tuple(sorted(layers)),
            tuple((alive[1:] / np.maximum(alive[:-1], 1e-9)).tolist()),
            float(np.concatenate(losses).mean()),
            k,
            float(gains[k]),
            float(free.max()),
        )

    def _judged(self, view: nn.Module, i: int) -> tuple[np.ndarray, np.ndarray]:
        """(where it would choose what the target chose, the loss there)."""
        logits, own = self._logits(view, i), self._own[i]
        chosen = mx.take_along_axis(logits, own[:, None], axis=-1)[:, 0]
        right, loss = mx.argmax(logits, axis=-1) == own, mx.logsumexp(logits, axis=-1) - chosen
        mx.eval(right, loss)
        return np.array(right), np.array(loss)

    def _logits(self, model: nn.Module, i: int) -> mx.array:
        """`[tokens, vocab]`, of what comes where the target's own tokens are."""
        ids, start = self._texts[i]
        return model(ids, cache=self._rows[i])[0, start - 1 : -1].astype(mx.float32)


class Beside:
    """In place of a layer's cache: the target's rows of a text, of which each row sees those before it, and
    itself.
    """

    offset = 0

    def __init__(self, keys: mx.array, values: mx.array, window: int | None):
        self._keys, self._values, self._window = keys, values, window

    def make_mask(self, N: int, return_array: bool = False, window_size: int | None = None) -> mx.array:
        """mlx-lm's contract: `[N, 2 N]`, the target's rows and then those of the pass."""
        window = min((w for w in (window_size, self._window) if w), default=N)
        back = mx.arange(N)[:, None] - mx.arange(N)
        return mx.concatenate([(back > 0) & (back < window), back == 0], axis=1)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """mlx-lm's contract: all keys and values that may be looked at."""
        return mx.concatenate([self._keys, keys], axis=2), mx.concatenate([self._values, values], axis=2)


def _rows(target: Any, ids: Sequence[int]) -> list[Beside]:
    model = Model(target)
    model.prefill(list(ids), len(ids))
    return [Beside(*buffer.read(0, len(ids)), buffer.window) for buffer in model.buffers]


def _alive(right: Sequence[np.ndarray]) -> np.ndarray:
    """`[LONGEST + 1]`: the share of places from which the next 0, 1, ... choices are all right."""
    shares = [1.0]
    for k in range(1, LONGEST + 1):
        runs = [np.convolve(each, np.ones(k), "valid") == k for each in right if len(each) >= k]
        shares.append(float(np.concatenate(runs).mean()) if runs else 0.0)
    return np.array(shares)


def timed(target: Any) -> Costs:
    """Time passes of the target over a few rows, and of its first layer."""
    whole, one = Model(target), LayerSkipDrafter(target, [0]).cached
    return Costs({rows: _seconds(whole, rows) for rows in (1, 2, 4, 8)}, _seconds(one, 1), len(target.layers))


def _seconds(model: Model, rows: int) -> float:
    """The median of a few passes; the first builds graphs and memory."""
    model.prefill([1] * TIMED_AT, TIMED_AT)
    taken = []
    for _ in range(TIMES + 1):
        start = time.perf_counter()
        mx.eval(model.decode(Pass(mx.ones((1, rows), mx.int32), Length.exact(TIMED_AT))).logits)
        taken.append(time.perf_counter() - start)
    return float(np.median(taken[1:]))
