"""What rounds cost beside what was measured: factors that follow the machine, the drafters and the lengths.

A round that took longer may say that the machine is slower at the moment (heat, other programs), which
changes quickly and for all kinds of rounds alike, or that its drafter or its length is dearer than was
thought, which hardly changes. A Kalman filter on the logarithms (Kalman 1960; one number is seen per round)
lays each surprise to them by what is known of each: a machine that slows down makes no drafter dearer.
"""

import math
from collections.abc import Mapping

import numpy as np

FAR = 2048
"""Context length that counts as long: rounds grow with powers of 1 + length / FAR."""
NOISE = 0.08
"""Standard deviation of the logarithm of a round's time."""
DRIFT = {"machine": 0.05, "drafter": 0.003, "length": 0.002, "growth": 0.001}
"""Standard deviations by which the logarithms move from round to round."""
KNOWN = {"machine": 0.1, "drafter": 0.05, "length": 0.1, "growth": 0.1}
"""The same at first, of what was measured; `growth` is a power."""
GUESSED = {"machine": 0.1, "drafter": 0.5, "length": 0.3, "growth": 0.3}
"""The same of what was not."""
WILD = 2.5
"""Standard deviations beyond which a surprise counts no more: it may be another program's turn."""
WRONG = math.log(2)
"""A surprise beyond this counts in full if the round before was one as well: a page fault comes alone, and no
machine slows down so much at once."""
GROSS = 0.1
"""By so much a round moves what is thought of its kind if that was grossly wrong."""


class CostFactors:
    """Factors of kinds of rounds; all are 1 at first. Kinds are added before they are asked about."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, int], int] = {}
        self._log = np.zeros(0)
        self._covariance = np.zeros((0, 0))
        self._drift = np.zeros(0)
        self._before = 0.0
        """The logarithm of the last surprise."""
        self._common: dict[str, list[int]] = {}
        """By drafter, where the factors stand that all its kinds have: the machine's, the power with which
        rounds grow, the drafter's own, and its own power."""

    def add_drafter(self, drafter: str, measured: bool) -> None:
        """A drafter is asked about from now on."""
        spreads = KNOWN if measured else GUESSED
        self._common[drafter] = [
            self._place("machine", "", 0, KNOWN),
            self._place("growth", "", 0, KNOWN),
            self._place("drafter", drafter, 0, spreads),
            self._place("growth", drafter, 0, spreads),
        ]

    def add(self, drafter: str, k: int, measured: bool) -> int:
        """Where the factor of a kind stands from now on, for `all_at`."""
        return self._place("length", drafter, k, KNOWN if measured else GUESSED)

    def all_at(self, drafter: str, places: np.ndarray, length: int) -> np.ndarray:
        """[places], factors of kinds of one drafter with `length` tokens in the context."""
        return np.exp(self._log[places]) * self.drafter_at(drafter, length)

    def drafter_at(self, drafter: str, length: int) -> float:
        """What the factors of a drafter's kinds have in common."""
        machine, machine_growth, own, own_growth = (float(self._log[at]) for at in self._common[drafter])
        return math.exp(machine + own + (machine_growth + own_growth) * math.log1p(length / FAR))

    def learn(self, drafter: str, k: int, surprise: float, length: int) -> bool:
        """Take a round that was timed. True if much of the surprise is its kind's.

        Args:
            surprise: seconds it took over those expected.
        """
        power = math.log1p(length / FAR)
        places = [*self._common[drafter], self._places["length", drafter, k]]
        weights = np.array([1.0, power, 1.0, power, 1.0])
        self._covariance.flat[:: len(self._drift) + 1] += self._drift
        shared = self._covariance[:, places] @ weights
        variance = float(weights @ shared[places]) + NOISE**2
        off, before = math.log(surprise), self._before
        self._before = off
        believed = WILD * math.sqrt(variance)
        if before * off > 0 and abs(before) > WRONG:
            believed = max(believed, abs(before))
        step = shared * (math.copysign(min(abs(off), believed), off) / variance)
        self._log += step
        self._covariance -= np.outer(shared, shared) / variance
        # The first two are the machine's and the context's.
        return abs(float(weights[2:] @ step[places[2:]])) > GROSS

    def _place(self, kind: str, drafter: str, k: int, spreads: Mapping[str, float]) -> int:
        place = self._places.setdefault((kind, drafter, k), len(self._places))
        if place == len(self._log):
            self._log = np.append(self._log, 0.0)
            self._covariance = np.pad(self._covariance, (0, 1))
            self._covariance[place, place] = spreads[kind] ** 2
            self._drift = np.append(self._drift, DRIFT[kind] ** 2)
        return place
