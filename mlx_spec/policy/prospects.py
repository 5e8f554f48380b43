"""What drafting promises for the tokens to come: this round's time, and what it will have taught.

A long draft pays if the answer is of a good kind and is dear if not, and the round itself tells which. So
each length is valued one round ahead (a knowledge gradient: Frazier, Powell and Dayanik 2008): its own time,
and after each way it can end the time of the tokens left, by the length that is best once that is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from mlx_spec.policy.acceptance import ALIVE, EXPECTED, LEVELS, SWITCH, Acceptance


@dataclass(frozen=True)
class Prospect:
    """One drafter's lengths."""

    acceptance: Acceptance
    seconds: np.ndarray
    """[lengths], of rounds that draft 0, 1, ... k."""
    once: float = 0.0
    """Seconds that its first round of all takes longer: it has to read what it missed."""

    @property
    def pace(self) -> float:
        """Seconds per token if it goes on drafting, with the length that is best by what is known."""
        return float((self.acceptance.now @ self._paces)[1:].min())

    @cached_property
    def _paces(self) -> np.ndarray:
        """[levels, lengths], seconds per token."""
        return self.seconds / EXPECTED[:, : len(self.seconds)]

    def worth_knowing(self, plain: float) -> float:
        """Seconds per token that would be saved on the mean if its level were known."""
        return float(self.acceptance.now @ np.maximum(plain - self._paces.min(axis=1), 0.0))

    def lasting(self, other: float, tokens: int) -> np.ndarray:
        """[k], seconds until `tokens` are written, if it drafts 1, 2, ... k now.

        Args:
            other: seconds per token of what else could be done later.
        """
        k, now = len(self.seconds) - 1, self.acceptance.now
        ends, gained = _ends(k)
        chance = ends @ now
        paces = ends @ (now[:, None] * self._paces) * ((1 - SWITCH) / chance)[:, None]
        pace = (paces + SWITCH * (self.acceptance.usual @ self._paces)).min(axis=1)
        left = chance * np.minimum(pace, other) * (tokens - gained)
        return self.once + self.seconds[1:] + left[:k].cumsum() + left[k:]


@cache
def _ends(k: int) -> tuple[np.ndarray, np.ndarray]:
    """The ways a round can end: the first rejection at 0, 1, ... k - 1; the first 1, 2, ... k all stand.

    ([2k, levels] how likely each is, [2k] tokens gained).
    """
    ends = np.concatenate([(ALIVE[:, :k] * (1 - LEVELS[:, None])).T, ALIVE[:, 1 : k + 1].T])
    return ends, np.concatenate([np.arange(1, k + 1), np.arange(2, k + 2)])


def best(prospects: Sequence[Prospect], plain: float, tokens: int) -> tuple[int, int]:
    """(index of the drafter, how many it should draft); -1, 0 is a plain round.

    Args:
        plain: seconds of a plain round.
        tokens: how many are expected to follow.
    """
    paces = [min(plain, prospect.pace) for prospect in prospects]
    choice, least = (-1, 0), plain + (tokens - 1) * min(paces, default=plain)
    for i, prospect in enumerate(prospects):
        lasting = prospect.lasting(min([plain, *paces[:i], *paces[i + 1 :]]), tokens)
        k = int(lasting.argmin())
        if lasting[k] < least:
            choice, least = (i, k + 1), float(lasting[k])
    return choice
