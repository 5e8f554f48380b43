"""Finds the layers of a target to leave out so that the others draft for it best.

SWIFT (Xia et al., ICLR 2025, arXiv 2410.06916) judges a set of layers by one pass over a text in which each
row attends to the target's rows before it, as a draft's first step does. The texts are the target's own, so
runs of right choices are about what rounds of each draft length would accept. Layers are left out one by one,
the one that raises the loss least first; the first few layers alone are tried too.
"""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlx_spec.arrays import Length, Pass
from mlx_spec.drafters.layer_skip import LayerSkipDrafter, with_layers
from mlx_spec.target.model import Model
from mlx_spec.training.study import Text

LONGEST = 7
"""The longest draft that is considered."""
TRIED_ANEW = 4
"""Layers tried for each one that is left out: those whose loss was least when they were tried last."""
WORTH = 1.1
"""A set whose gain is lower even if drafting took no time is not made smaller."""
TIMED_AT, TIMES, ROWS = 64, 5, (1, 2, 4, 8)
"""Context at which passes are timed, how often, and over how many rows."""


@dataclass(frozen=True, slots=True)
class Found:
    """A set of layers, and its value as a drafter."""

    layers: tuple[int, ...]
    """The layers kept, ascending."""
    acceptance: tuple[float, ...]
    """For draft position i: acceptance rate, given that all before it were accepted."""
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
    """Passes of the target, by rows; 1 is among them."""
    one_layer: float
    """A draft step through one layer."""
    layers: int
    """Layers of the target."""

    def step(self, kept: int) -> float:
        """A draft step through `kept` layers."""
        whole = self.rows[1]
        return float(np.interp(kept, [1, self.layers], [min(self.one_layer, whole), whole]))

    def passes(self) -> np.ndarray:
        """`[LONGEST + 1]`: passes that verify 0, 1, ... drafted tokens."""
        return np.interp(np.arange(LONGEST + 1) + 1, list(self.rows), list(self.rows.values()))


def search(target: Any, texts: Sequence[Text], costs: Costs) -> Iterator[Found]:
    """Yields the best set so far after each that was tried; may be stopped at any time.

    Args:
        texts: greedy answers with their prompts. A few hundred tokens of answers are enough.
        costs: from `timed`.

    Raises:
        UnsupportedModel: the target's layers cannot be left out one by one.
    """
    judge = Judge(target, texts, costs)
    count = len(target.layers)
    best = NONE
    for first in range(count - 1, 0, -1):
        found = judge.found(range(first))
        best = max(best, found, key=attrgetter("gain"))
        yield best
        if found.ceiling <= max(best.gain, WORTH):
            break  # with fewer layers it is right less often
    kept, losses = set(range(count)), dict.fromkeys(range(count), 0.0)
    while len(kept) > 1:
        tried = sorted(kept, key=losses.__getitem__)[: TRIED_ANEW if len(kept) < count else count]
        without: dict[int, Found] = {}
        for layer in tried:
            without[layer] = found = judge.found(kept - {layer})
            losses[layer] = found.loss
            best = max(best, found, key=attrgetter("gain"))
            yield best
        least = min(tried, key=losses.__getitem__)
        if without[least].ceiling <= max(best.gain, WORTH):
            return
        kept.remove(least)


class Judge:
    """Judges sets of layers by one pass over each text."""

    def __init__(self, target: Any, texts: Sequence[Text], costs: Costs):
        self._target, self._costs = target, costs
        self._texts = [(mx.array([list(text.tokens)], mx.int32), text.begin) for text in texts]
        self._rows = [_rows(target, text.tokens) for text in texts]
        self._own = [mx.argmax(self._logits(target, i), axis=-1) for i in range(len(texts))]
        mx.eval(self._own)

    def found(self, layers: Collection[int]) -> Found:
        """The value of a set."""
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
        """(whether it chooses the target's token, the loss), at each of the target's own tokens."""
        logits, own = self._logits(view, i), self._own[i]
        chosen = mx.take_along_axis(logits, own[:, None], axis=-1)[:, 0]
        right, loss = mx.argmax(logits, axis=-1) == own, mx.logsumexp(logits, axis=-1) - chosen
        mx.eval(right, loss)
        return np.array(right), np.array(loss)

    def _logits(self, model: nn.Module, i: int) -> mx.array:
        """`[tokens, vocab]`, at each of the target's own tokens."""
        ids, start = self._texts[i]
        return model(ids, cache=self._rows[i])[0, start - 1 : -1].astype(mx.float32)


class Beside:
    """In place of a layer's cache: each row sees the target's rows before it, and itself."""

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
    """`[LONGEST + 1]`: the share of positions from which the next 0, 1, ... choices are all right."""
    shares = [1.0]
    for k in range(1, LONGEST + 1):
        runs = [np.convolve(each, np.ones(k), "valid") == k for each in right if len(each) >= k]
        shares.append(float(np.concatenate(runs).mean()) if runs else 0.0)
    return np.array(shares)


def timed(target: Any) -> Costs:
    """Time passes of the target over a few rows, and of its first layer.

    A pass never takes longer than one over more rows: if it did, other work delayed it, and a draft would
    seem to gain more than its tokens.
    """
    whole, one = Model(target), LayerSkipDrafter(target, [0]).cached
    seconds = [_seconds(whole, rows) for rows in ROWS]
    least = np.minimum.accumulate(seconds[::-1])[::-1].tolist()
    return Costs(dict(zip(ROWS, least, strict=True)), _seconds(one, 1), len(target.layers))


def _seconds(model: Model, rows: int) -> float:
    """The median of a few passes; the first builds graphs and memory."""
    model.prefill([1] * TIMED_AT, TIMED_AT)
    taken = []
    for _ in range(TIMES + 1):
        start = time.perf_counter()
        mx.eval(model.decode(Pass(mx.ones((1, rows), mx.int32), Length.exact(TIMED_AT))).logits)
        taken.append(time.perf_counter() - start)
    return float(np.median(taken[1:]))
