"""What a drafter is worth at each length: expected tokens over seconds, and what a refused draft may lose."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mlx_spec.candidate import Candidate
from mlx_spec.policy.acceptance import ALIVE, EXPECTED, Acceptance
from mlx_spec.policy.budget import START


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
        """Plain rounds that a draft is expected to lose where it loses; half an answer's for reading."""
        plain = float(self.seconds[0])
        lost = float(self.seconds[k]) / plain - 1
        alive = self.alive.tolist()
        ends = [(a - b) * (lost - j) for j, (a, b) in enumerate(pairwise(alive[: k + 1])) if j < lost]
        return sum(ends) + alive[k] * max(0.0, lost - k) + min(self.once / plain, START / 2)

    def best(self, left: float, ahead: float) -> int:
        """The best length whose risk `left` plain rounds cover; 0 if none, or if reading does not pay."""
        pace = self.pace.copy()
        pace[0] = np.inf
        while self.risk(k := int(pace.argmin())) > left:
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
