"""What a drafter is worth at each length: expected tokens over seconds, and what a refused draft may lose."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mlx_spec.candidate import Candidate
from mlx_spec.policy.acceptance import ALIVE, EXPECTED, Acceptance
from mlx_spec.policy.budget import START

STAKE = 1 / 6
"""Share of what may be lost that one draft may risk: after a refusal there is enough left to try again, with
shorter drafts, and to find out (fractional betting, Kelly 1956)."""


@dataclass
class Value:
    """What one drafter is worth now."""

    candidate: Candidate
    known: Acceptance
    seconds: np.ndarray
    """[lengths], of rounds that draft 0, 1, ... tokens."""
    once: float
    """Seconds that it reads before its first draft."""

    def __post_init__(self) -> None:
        self.alive = self.known.now @ ALIVE[:, : len(self.seconds)]
        """[lengths], how likely the first 0, 1, ... k drafted tokens are all right."""
        self.expected = self.alive.cumsum()
        """[lengths], tokens."""
        self.pace = self.seconds / self.expected
        """[lengths], seconds per token."""

    @property
    def step(self) -> float:
        """Seconds of the longest draft's last token."""
        return float(self.seconds[-1] - self.seconds[-2])

    def risk(self, k: int) -> float:
        """Plain rounds that a draft is expected to lose where it loses."""
        lost = float(self.seconds[k] / self.seconds[0]) - 1
        alive = self.alive.tolist()
        ends = [(a - b) * (lost - j) for j, (a, b) in enumerate(pairwise(alive[: k + 1])) if j < lost]
        return sum(ends) + alive[k] * max(0.0, lost - k)

    @property
    def reading(self) -> float:
        """Plain rounds that are risked by what it reads first; half an answer's at most."""
        return min(self.once / float(self.seconds[0]), START / 2)

    def best(self, left: float, ahead: float) -> int:
        """The best length that stakes no more than its share of the `left` plain rounds; 0 if none does, or
        if reading does not pay."""
        pace = self.pace.copy()
        pace[0] = np.inf
        stake = min(STAKE * left, left - self.reading)
        while self.risk(k := int(pace.argmin())) > stake:
            pace[k:] = np.inf  # a longer draft risks more
            if k <= 1:
                return 0
        saved = float(self.seconds[0] - self.pace[k])
        return k if not self.once or saved * ahead >= self.once else 0

    def worth_asking(self, ahead: float) -> bool:
        """Whether knowing its level would save more in the tokens ahead than asking costs."""
        by_level = (self.seconds / EXPECTED[:, : len(self.seconds)]).min(axis=1)
        saved = float(self.known.now @ (self.seconds[0] - by_level))
        return saved * ahead >= self.step + self.once
