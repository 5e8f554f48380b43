"""A machine of changing speed, as calibration sees it: an engine whose rounds only move a clock."""

import random
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from types import SimpleNamespace

from mlx_spec import Options, Round
from mlx_spec.calibrate import OneKind

SLOWER = 1.5
"""How many times slower the machine is half of the time."""
SPELL = 3.0
"""Mean seconds until that changes."""
NOISE = 0.03
"""Relative deviation of each round."""
STEP = 0.05
"""Of the head, in plain rounds."""


class UnevenMachine:
    """An engine with one head, for `Calibration`.

    Args:
        plain: seconds of a plain round.
    """

    def __init__(self, plain: float, seed: int):
        self.plain, self.now, self._draw = plain, 0.0, random.Random(seed)
        self.controller: OneKind | None = None
        self.context_limit, self.can_pretend, self.target = 2048, True, SimpleNamespace(compiles=True)
        head = SimpleNamespace(name="eagle", takes_time=True, models=[None], trees=False, nodes=())
        self.drafters = [head]
        self._changes = list(accumulate(self._draw.expovariate(1 / SPELL) for _ in range(100)))

    def pretend_cached(self, text: Sequence[int], unread: str = "") -> None:
        """Nothing is read."""

    def forget(self) -> None:
        """Nothing was read."""

    def cost(self, k: int, drafter: str) -> float:
        """Of a round, in plain rounds."""
        return 1 + 0.09 * k + STEP * k * (drafter == "eagle")

    def generate(self, text: Sequence[int], options: Options) -> Iterator[Round]:
        """Rounds of the kind that was asked for. The first is not steady, of plain ones the first three:
        others are in flight."""
        k = self.controller.kind.k if self.controller else options.draft_length or 0
        for i in range(9):
            begun = self.now
            left = self.plain * self.cost(k, options.drafter) * self._draw.lognormvariate(0, NOISE)
            while left > 0:
                part = min(left, self.plain / 10)
                slow = bisect(self._changes, self.now) % 2
                self.now, left = self.now + part * (SLOWER if slow else 1), left - part
            yield Round((1,) * k, 0, (1,), options.drafter, self.now - begun, steady=i > (0 if k else 2))
