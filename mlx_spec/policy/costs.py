"""Round times: seconds by drafter, draft length and context length, each an average of its readings.

Each kind of round is linear in the context length. Draft lengths that never ran are interpolated.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mlx_spec.candidate import rows_of

FAR = 2048
"""Context length (tokens) that the growth of a new cost is taken at."""
PLAIN = "none"
"""Drafter name of plain rounds."""
MEASURED = 4
"""Weight of a calibrated cost, in readings."""
KEPT = 8
"""The most weight that a saved cost may have, in readings."""
LASTING = 16
"""The most weight that an average may have, in readings: older ones fade."""
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
ALONG = 0.8
"""Share of a correction that applies to all draft lengths of the drafter."""


Surprise = Literal["none", "gross", "believed"]


@dataclass(slots=True)
class RoundCost:
    """Seconds of one kind of round."""

    seconds: float
    """At an empty context."""
    growth: float = 0.0
    """Seconds added per token in the context."""
    seen: int = MEASURED
    """Its weight in readings; 0: a guess."""
    surprise: float = field(default=0.0, compare=False)
    """Logarithm of the last reading over the expected time."""

    def at(self, length: int) -> float:
        """Seconds with `length` tokens in the context."""
        return self.seconds + self.growth * length

    def scaled(self, factor: float) -> "RoundCost":
        """The cost of rounds that take `factor` times as long."""
        return RoundCost(self.seconds * factor, self.growth * factor, self.seen)


@dataclass(slots=True)
class Costs:
    """Wall time of rounds on one machine with one pair. Learns; `plain` is None until one was timed."""

    plain: RoundCost | None = None
    rounds: dict[str, dict[int, RoundCost]] = field(default_factory=dict)
    """By drafter and draft length, as far as known."""
    noise: float = field(default=NOISE, compare=False)
    """Standard deviation of the logarithm of a reading."""
    _scale: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    """By drafter: a factor on all its costs in `rounds`."""
    _recent: set[str] = field(default_factory=set, repr=False, compare=False)
    """Drafters timed since a plain round last took the expected time."""

    def curve(self, drafter: str, limit: int, length: int = 0) -> np.ndarray:
        """[lengths], seconds of rounds that draft 0, 1, ... tokens with `length` tokens in the context.

        Up to `limit`, or one past the longest known, extrapolated from plain rounds and the longest.
        """
        assert self.plain is not None, "plain rounds come first"
        plain, known = self.plain.at(length), self.rounds.get(drafter) if drafter != PLAIN else {}
        if not known:
            return plain * np.array([1.0, 1 + FIRST_STEP * (drafter != PLAIN)][: limit + 1])
        lengths, scale = sorted(known), self._scale.get(drafter, 1.0)
        seconds = [known[k].at(length) * scale for k in lengths]
        beyond = max(seconds[-1] + (seconds[-1] - plain) / lengths[-1], plain)
        points, curve = [0, *lengths, lengths[-1] + 1], np.array([plain, *seconds, beyond])
        return np.interp(np.arange(min(limit, points[-1]) + 1), points, curve)

    def of(self, drafter: str, k: int, length: int = 0) -> float:
        """Seconds of a round; k is at most one more than the longest known."""
        known = self.plain if drafter == PLAIN else self.rounds.get(drafter, {}).get(k)
        if known:
            return known.at(length) * self._scale.get(drafter, 1.0)
        return float(self.curve(drafter, k, length)[k])

    def longest(self, drafter: str) -> int:
        """The longest draft whose cost is known."""
        return max(self.rounds.get(drafter) or (0,))

    def timed(self, drafter: str) -> int:
        """The longest draft that was timed."""
        return max((k for k, cost in self.rounds.get(drafter, {}).items() if cost.seen), default=0)

    def doubt(self, drafter: str, k: int) -> float:
        """Relative standard deviation of a round's time over a plain round's."""
        known = self.rounds.get(drafter, {}).get(k)
        seen = known.seen if known else 0
        return self.noise * math.sqrt(1 / max(1, self.plain.seen if self.plain else 0) + 1 / max(1, seen))

    def learn(self, drafter: str, k: int, seconds: float, length: int) -> Surprise:
        """Learn from a steady round. An outlier is believed when the next reading agrees."""
        if self.plain is None:
            if not k:
                self.plain = RoundCost(seconds, seen=1)
            return "none"
        cost = self._known(drafter, k) if k else self.plain
        if cost is None:
            return "none"
        expected = cost.at(length) * (self._scale.get(drafter, 1.0) if k else 1.0)
        surprise, before = math.log(seconds / expected), cost.surprise
        bound, cost.surprise = GROSS * self.noise, surprise
        if believed := min(surprise, before) > bound or max(surprise, before) < -bound:
            cost.seen, step = 1, surprise
        else:
            cost.seen, usual = min(cost.seen + 1, LASTING), max(-bound, min(surprise, bound))
            step = usual / cost.seen
            self.noise += (TO_DEVIATION * abs(usual) - self.noise) / SPREAD_OVER
        self._move(cost, drafter if k else PLAIN, math.exp(step))
        return "believed" if believed else "gross" if abs(surprise) > bound else "none"

    def _known(self, drafter: str, k: int) -> RoundCost | None:
        """None for a new kind of round: its first one only makes the entry, as it may have compiled."""
        known = self.rounds.setdefault(drafter, {})
        if k not in known and k <= self.longest(drafter) + 1:
            near, far = (self.of(drafter, k, at) / self._scale.get(drafter, 1.0) for at in (0, FAR))
            known[k] = RoundCost(near, max(0.0, far - near) / FAR, seen=0)
            return None
        return known.get(k)

    def _move(self, cost: RoundCost, drafter: str, factor: float) -> None:
        """Scale a cost, and the drafter's other lengths mostly. With plain rounds, which show the machine's
        speed, all drafters are scaled that were not timed since."""
        own = factor ** (1 - ALONG) if drafter != PLAIN else factor
        cost.seconds, cost.growth = cost.seconds * own, cost.growth * own
        if drafter != PLAIN:
            self._recent.add(drafter)
            self._scale[drafter] = self._scale.get(drafter, 1.0) * factor / own
            return
        for idle in self.rounds.keys() - self._recent:
            self._scale[idle] = self._scale.get(idle, 1.0) * factor
        if abs(cost.surprise) < self.noise:
            self._recent.clear()

    def together(self, texts: int) -> "Costs":
        """Estimated costs of rounds of `texts` texts, from those of one text.

        A pass costs about the same for as many rows of one text, and drafting about as much as for one text.
        Chains whose pass would have more rows than were timed are left out, as shorter ones lead to them;
        trees are taken to cost as much more as they have rows.
        """
        if self.plain is None:
            return Costs()
        longest = max((self.longest(name) for name in self.rounds), default=0)
        passes = [self.plain.at(0)] + [
            min(self.of(name, k) for name in self.rounds if k <= self.longest(name))
            for k in range(1, longest + 1)
        ]
        if texts > len(passes):
            return Costs()

        def pass_of(rows: int) -> float:
            return passes[min(rows, len(passes)) - 1] * max(1.0, rows / len(passes))

        grown = self.plain.growth * texts
        rounds: dict[str, dict[int, RoundCost]] = {}
        for name in self.rounds:
            by = rounds[name] = dict[int, RoundCost]()
            for k in range(1, self.longest(name) + 1):
                rows = rows_of(name, k)
                if texts * rows <= len(passes) or rows > k + 1:
                    seconds = pass_of(texts * rows) + self.of(name, k) - pass_of(rows)
                    by[k] = RoundCost(seconds, grown, seen=1)
        return Costs(RoundCost(passes[texts - 1], grown, seen=0), rounds)

    def as_json(self) -> dict[str, Any]:
        """Plain values; `from_json` reads them."""
        rounds = {
            name: {str(k): _values(c.scaled(self._scale.get(name, 1.0))) for k, c in by.items()}
            for name, by in self.rounds.items()
        }
        return {"plain": _values(self.plain) if self.plain else None, "rounds": rounds}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Costs":
        """Raises LookupError, TypeError, ValueError or AttributeError on invalid values."""
        plain = _read(values["plain"]) if values["plain"] is not None else None
        rounds = {
            str(name): {int(k): _read(cost) for k, cost in by.items()}
            for name, by in values["rounds"].items()
        }
        if any(k < 1 for by in rounds.values() for k in by):
            raise ValueError("a draft has a token at least")
        return cls(plain, rounds)


def _values(cost: RoundCost) -> list[float | int]:
    return [cost.seconds, cost.growth, min(cost.seen, KEPT)]


def _read(values: Any) -> RoundCost:
    seconds, growth, seen = values
    if not (0 < seconds < math.inf and 0 <= growth < math.inf and seen >= 0):
        raise ValueError("seconds must be positive, growth and readings not negative, all finite")
    return RoundCost(float(seconds), float(growth), int(seen))
