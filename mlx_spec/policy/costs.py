"""Round times: seconds by drafter, draft length and context length.

Each kind of round is linear in the context length. Draft lengths that never ran are interpolated. A factor
on each drafter's costs follows its readings by a Kalman filter (Kalman 1960): the machine's speed, which all
of them share, changes faster than what a drafter costs beside plain rounds.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mlx_spec.candidate import rows_of
from mlx_spec.policy.learned import CostValues, LearnedCosts

FAR = 2048
"""Context length (tokens) that the growth of a new cost is taken at."""
PLAIN = "none"
"""Drafter name of plain rounds."""
MEASURED = 4
"""Weight of a calibrated cost, in readings."""
GUESSED = 1
"""Weight of a cost computed for rounds of which none like it was timed."""
KEPT = 8
"""The most weight that a saved cost may have, in readings."""
LASTING = 16
"""The most weight that a cost may have, in readings: older ones fade."""
FIRST_STEP = 0.5
"""Assumed time of drafting one token, in plain rounds, until it was timed."""
NOISE = 0.08
"""Assumed standard deviation of the logarithm of a reading, until it was measured."""
TO_DEVIATION = 1.25
"""Standard deviation over mean absolute deviation."""
SPREAD_OVER = 64
"""Readings that the noise is an average of."""
GROSS = 3.0
"""Standard deviations of an outlier. One may be due to another program; a second one is believed."""
SPEED_VARIANCE = 4.0
"""Variance of the machine's speed at the start: a calibration that met a slow moment is wrong by more than a
reading's noise. All variances are of logarithms, in units of that noise."""
FACTOR_VARIANCE = 2.0
"""Variance of a drafter's factor beside the machine's speed, where some of its costs were timed."""
UNTIMED_VARIANCE = 16.0
"""The same where none of its costs were timed."""
SPEED_DRIFT = 1 / 16
"""Variance that a reading's time adds to all factors together."""
FACTOR_DRIFT = 1 / 256
"""Variance that it adds to the factor of the drafter read."""
CHANGED = 1 / 16
"""Share of a believed surprise that may be the drafter's own, not the machine's."""


Surprise = Literal["none", "gross", "believed", "new"]


@dataclass(slots=True)
class RoundCost:
    """Seconds of one kind of round."""

    seconds: float
    """At an empty context."""
    growth: float = 0.0
    """Seconds added per token in the context."""
    seen: int = MEASURED
    """Its weight in readings; 0: a guess."""

    def at(self, length: int) -> float:
        """Seconds with `length` tokens in the context."""
        return self.seconds + self.growth * length


@dataclass(slots=True)
class Costs:
    """Wall time of rounds on one machine with one pair. Learns; `plain` is None until one was timed."""

    plain: RoundCost | None = None
    rounds: dict[str, dict[int, RoundCost]] = field(default_factory=dict)
    """By drafter and draft length, as far as known."""
    noise: float = field(default=NOISE, compare=False)
    """Standard deviation of the logarithm of a reading."""
    _factors: dict[str, float] = field(default_factory=lambda: {PLAIN: 0.0}, repr=False, compare=False)
    """Logarithms of factors on the costs of plain rounds and of each drafter that was read."""
    _joint: list[list[float]] = field(default_factory=lambda: [[SPEED_VARIANCE]], repr=False, compare=False)
    """Their covariances, in the same order."""
    _surprises: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    """By drafter: its last reading over the expected time, in standard deviations."""

    def curve(self, drafter: str, limit: int, length: int = 0) -> np.ndarray:
        """[lengths], seconds of rounds that draft 0, 1, ... tokens with `length` tokens in the context.

        Up to `limit`, or one past the longest known, extrapolated from plain rounds and the longest.
        """
        assert self.plain is not None, "plain rounds come first"
        plain, known = self.of(PLAIN, 0, length), self.rounds.get(drafter) if drafter != PLAIN else {}
        if not known:
            return plain * np.array([1.0, 1 + FIRST_STEP * (drafter != PLAIN)][: limit + 1])
        lengths, factor = sorted(known), self._factor(drafter)
        lengths = lengths[: bisect_left(lengths, limit) + 1]  # what is longer says nothing about these
        seconds = [known[k].at(length) * factor for k in lengths]
        beyond = max(seconds[-1] + (seconds[-1] - plain) / lengths[-1], plain)
        points, curve = [0, *lengths, lengths[-1] + 1], np.array([plain, *seconds, beyond])
        return np.interp(np.arange(min(limit, points[-1]) + 1), points, curve)

    def of(self, drafter: str, k: int, length: int = 0) -> float:
        """Seconds of a round; k is at most one more than the longest known."""
        known = self.plain if drafter == PLAIN else self.rounds.get(drafter, {}).get(k)
        if known:
            return known.at(length) * self._factor(drafter)
        return float(self.curve(drafter, k, length)[k])

    def longest(self, drafter: str) -> int:
        """The longest draft whose cost is known."""
        return max(self.rounds.get(drafter) or (0,))

    def timed(self, drafter: str) -> int:
        """The longest draft that was timed."""
        known = self.rounds.get(drafter, {})
        return next((k for k in sorted(known, reverse=True) if known[k].seen), 0)

    def doubt(self, drafter: str, k: int) -> float:
        """Relative standard deviation of a round's time over a plain round's."""
        known = self.rounds.get(drafter, {}).get(k)
        apart, joint = self._apart(drafter), self._joint
        if drafter in self._factors:
            i = self._index(drafter)
            apart = joint[i][i] + joint[0][0] - 2 * joint[i][0]
        return self.noise * math.sqrt(apart + 1 / max(1, known.seen if known else 0))

    def _apart(self, drafter: str) -> float:
        """Variance of the drafter's factor beside the machine's speed, before it was read."""
        guessed = all(cost.seen <= GUESSED for cost in self.rounds.get(drafter, {}).values())
        return UNTIMED_VARIANCE if guessed else FACTOR_VARIANCE

    def learn(self, drafter: str, k: int, seconds: float, length: int) -> Surprise:
        """Learn from a steady round. An outlier is believed when the drafter's next reading agrees."""
        if self.plain is None:
            if not k:
                self.plain = RoundCost(seconds, seen=1)
            return "none"
        name = drafter if k else PLAIN
        cost = self._known(drafter, k) if k else self.plain
        if cost is None:
            return "new"
        i, joint = self._index(name), self._joint
        surprise = math.log(seconds / cost.at(length)) - self._factors[name]
        self._loosen(SPEED_DRIFT, i, FACTOR_DRIFT if i else 0.0)
        own = 1 / max(1, cost.seen) if i else 0.0
        deviation = self.noise * math.sqrt(joint[i][i] + own + 1)
        before, now = self._surprises.get(name, 0.0), surprise / deviation
        self._surprises[name] = now
        if believed := min(now, before) > GROSS or max(now, before) < -GROSS:
            change = (surprise / self.noise) ** 2
            self._loosen(change, i, change * CHANGED)
            cost.seen = 1
        else:
            usual = max(-GROSS, min(now, GROSS))
            self.noise *= 1 + (TO_DEVIATION * abs(usual) - 1) / SPREAD_OVER
            surprise, cost.seen = usual * deviation, min(cost.seen + 1, LASTING)
        self._correct(i, own, surprise, cost)
        return "believed" if believed else "gross" if abs(now) > GROSS else "none"

    def _known(self, drafter: str, k: int) -> RoundCost | None:
        """None for a new kind of round: its first one only makes the entry, as it may have compiled."""
        known = self.rounds.setdefault(drafter, {})
        if k not in known and k <= self.longest(drafter) + 1:
            near, far = (self.of(drafter, k, at) / self._factor(drafter) for at in (0, FAR))
            known[k] = RoundCost(near, max(0.0, far - near) / FAR, seen=0)
            return None
        return known.get(k)

    def _factor(self, drafter: str) -> float:
        """A drafter that was not read yet has plain rounds' factor."""
        return math.exp(self._factors.get(drafter, self._factors[PLAIN]))

    def _index(self, drafter: str) -> int:
        """The drafter's place among the factors; makes one."""
        if drafter not in self._factors:
            self._factors[drafter] = self._factors[PLAIN]
            for row in self._joint:
                row.append(row[0])
            self._joint.append([*self._joint[0][:-1], self._joint[0][0] + self._apart(drafter)])
        return list(self._factors).index(drafter)

    def _loosen(self, shared: float, i: int, own: float) -> None:
        """Add to the variance of all factors together, and to that of the i-th."""
        for row in self._joint:
            for j in range(len(row)):
                row[j] += shared
        self._joint[i][i] += own

    def _correct(self, i: int, own: float, surprise: float, cost: RoundCost) -> None:
        """Share a surprise of the i-th factor's drafter among the factors and the cost of the one length, by
        their variances (Kalman 1960)."""
        toward, total = list(self._joint[i]), self._joint[i][i] + own + 1
        for j, name in enumerate(self._factors):
            gain, row = toward[j] / total, self._joint[j]
            self._factors[name] += gain * surprise
            for k, to in enumerate(toward):
                row[k] -= gain * to
        if own:
            moved = math.exp(own / total * surprise)
            cost.seconds, cost.growth = cost.seconds * moved, cost.growth * moved

    def together(self, texts: int) -> "Costs":
        """Estimated costs of rounds of `texts` texts, from those of one text.

        A pass costs about the same for as many rows of one text, and drafting about as much as for one text.
        Passes of more rows than were timed are extrapolated; of chains that need them only those of one token
        are estimated: they lead to longer ones.
        """
        if self.plain is None:
            return Costs()
        longest = max((self.longest(name) for name in self.rounds), default=0)
        passes = [self.of(PLAIN, 0)] + [
            min(self.of(name, k) for name in self.rounds if k <= self.longest(name))
            for k in range(1, longest + 1)
        ]
        if texts > len(passes):
            return Costs()
        row = max(0.0, passes[-1] - passes[0]) / longest

        def pass_of(rows: int) -> float:
            return passes[min(rows, len(passes)) - 1] + row * max(0, rows - len(passes))

        grown = self.plain.growth * self._factor(PLAIN) * texts
        rounds: dict[str, dict[int, RoundCost]] = {}
        for name in self.rounds:
            by = rounds[name] = dict[int, RoundCost]()
            for k in range(1, self.longest(name) + 1):
                rows = rows_of(name, k)
                timed = texts * rows <= len(passes)
                if timed or k == 1 or rows > k + 1:
                    seconds = pass_of(texts * rows) + self.of(name, k) - pass_of(rows)
                    by[k] = RoundCost(seconds, grown, seen=GUESSED + timed)
        return Costs(RoundCost(passes[texts - 1], grown, seen=0), rounds)

    @property
    def learned(self) -> LearnedCosts:
        """As plain values."""
        rounds = {
            name: {k: _values(cost, self._factor(name)) for k, cost in by.items()}
            for name, by in self.rounds.items()
        }
        return LearnedCosts(self.plain and _values(self.plain, self._factor(PLAIN)), rounds)

    @classmethod
    def restored(cls, learned: LearnedCosts) -> "Costs":
        """From plain values."""
        rounds = {
            name: {k: RoundCost(*cost) for k, cost in by.items()} for name, by in learned.rounds.items()
        }
        return cls(learned.plain and RoundCost(*learned.plain), rounds)


def _values(cost: RoundCost, factor: float) -> CostValues:
    return cost.seconds * factor, cost.growth * factor, min(cost.seen, KEPT)


def fixed_share(one: Costs, all_of: Costs, texts: int) -> float:
    """The share of a plain round of `texts` texts that does not grow with their number, if the rest does."""
    if one.plain is None or all_of.plain is None:
        return 1.0
    return min(1.0, max(0.0, (texts * one.of(PLAIN, 0) / all_of.of(PLAIN, 0) - 1) / (texts - 1)))
