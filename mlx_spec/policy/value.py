"""The value of a drafter at each draft length: seconds per token, and what a rejected draft may lose."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mlx_spec.candidate import Candidate
from mlx_spec.policy.acceptance import ALIVE, EXPECTED, Acceptance
from mlx_spec.policy.budget import SHARE, for_all, start

STAKE = 1 / 6
"""Share of the budget that one draft may risk: after a rejection enough is left to try shorter drafts
(fractional betting, Kelly 1956)."""


@dataclass
class Value:
    """One candidate's value for the next round."""

    candidate: Candidate
    acceptance: Acceptance
    seconds: np.ndarray
    """[lengths], time of rounds that draft 0, 1, ... tokens."""
    once: float
    """Seconds to read the tokens it missed, before its first draft."""
    fixed: float = 0.0
    """Share of a plain round's time that one text would take as well."""

    def __post_init__(self) -> None:
        by_text = self.acceptance.by_text(self.candidate.texts) @ ALIVE[:, : len(self.seconds)]
        self.texts = len(by_text)
        self.alive = by_text.sum(axis=0) / self.texts
        """[lengths], probability that the first 0, 1, ... k drafted tokens are all accepted."""
        self.expected = 1 / for_all(1 / by_text.cumsum(axis=1), self.fixed)
        """[lengths], expected tokens of a round, each text's."""
        self.pace = self.seconds / self.expected
        """[lengths], seconds per token."""

    @property
    def step(self) -> float:
        """Seconds that the longest draft's last token adds."""
        return float(self.seconds[-1] - self.seconds[-2])

    def risk(self, k: int) -> float:
        """Expected loss of a draft of k tokens, in plain rounds; outcomes that gain count as 0."""
        lost = float(self.seconds[k] / self.seconds[0]) - 1
        alive = self.alive.tolist()
        ends = [(a - b) * (lost - j) for j, (a, b) in enumerate(pairwise(alive[: k + 1])) if j < lost]
        return sum(ends) + alive[k] * max(0.0, lost - k)

    @property
    def reading(self) -> float:
        """Plain rounds that reading missed tokens costs; at most half of what an answer may lose."""
        return min(self.once / float(self.seconds[0]), start(self.texts) / 2)

    def best(self, left: float, ahead: float) -> int:
        """The fastest length that risks no more than its share of the `left` plain rounds, or what a round
        earns; 0 if none does, or if reading missed tokens does not pay within the `ahead` tokens to come."""
        pace = self.pace.copy()
        pace[0] = np.inf
        stake = min(max(STAKE * left, SHARE), max(left, SHARE) - self.reading)
        while self.risk(k := int(pace.argmin())) > stake:
            pace[k:] = np.inf  # a longer draft risks more
            if k <= 1:
                return 0
        saved = float(self.seconds[0] - self.pace[k])
        return k if not self.once or saved * ahead >= self.once else 0

    def worth_asking(self, ahead: float) -> bool:
        """Whether knowing the acceptance rate would save more over the `ahead` tokens to come than a shadow
        draft costs."""
        by_level = (self.seconds / EXPECTED[:, : len(self.seconds)]).min(axis=1)
        saved = float(self.acceptance.now @ (self.seconds[0] - by_level))
        return saved * ahead >= self.step + self.once
