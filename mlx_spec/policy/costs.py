"""What rounds cost: seconds by drafter, draft length and context length, each an average of its readings.

Each kind of round is a line over the tokens in the context. Those that never ran lie between neighbours.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

FAR = 2048
"""A context length that counts as long."""
PLAIN = "none"
"""Whose rounds draft nothing."""
MEASURED = 4
"""Readings that a calibrated cost is worth."""
KEPT = 8
"""Readings that a cost may rest on at most when it is written down."""
LASTING = 16
"""Readings of an average: older ones fade."""
FIRST_STEP = 0.5
"""Plain rounds that drafting one token is assumed to cost until it was tried."""
NOISE = 0.08
"""Standard deviation of the logarithm of a reading, until it was seen."""
TO_DEVIATION = 1.25
"""Standard deviations in a mean absolute one."""
SPREAD_OVER = 64
"""Readings that the noise is an average of."""
GROSS = 3.0
"""Standard deviations. One such surprise may be another program's turn, a second one is believed."""
ALONG = 0.8
"""Share of a correction that moves all lengths of the drafter."""


Surprise = Literal["none", "gross", "believed"]


@dataclass(slots=True)
class RoundCost:
    """Seconds of one kind of round."""

    seconds: float
    """In an empty context."""
    growth: float = 0.0
    """More for every token in the context."""
    seen: int = MEASURED
    """Readings it rests on; 0 is a guess."""
    surprise: float = field(default=0.0, compare=False)
    """The logarithm of the last reading over what was expected."""

    def at(self, length: int) -> float:
        """Seconds with `length` tokens in the context."""
        return self.seconds + self.growth * length

    def scaled(self, factor: float) -> "RoundCost":
        """The same of rounds that take `factor` times as long."""
        return RoundCost(self.seconds * factor, self.growth * factor, self.seen)


@dataclass(slots=True)
class Costs:
    """Wall time of rounds on one machine with one pair. Learns; `plain` is None until a round was seen."""

    plain: RoundCost | None = None
    rounds: dict[str, dict[int, RoundCost]] = field(default_factory=dict)
    """By drafter and draft length, as far as they are known."""
    noise: float = field(default=NOISE, compare=False)
    """Standard deviation of the logarithm of a reading."""
    _scale: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    """What all rounds of a drafter take, in what they took when they were measured."""
    _recent: set[str] = field(default_factory=set, repr=False, compare=False)
    """Drafters that ran since plain rounds were read."""

    def curve(self, drafter: str, limit: int, length: int = 0) -> np.ndarray:
        """[lengths], seconds of rounds that draft 0, 1, ... tokens with `length` tokens in the context.

        To `limit`, or one past the longest that ran: the first one beyond is on the line from plain rounds
        through the longest.
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
        """Seconds of a round, k at most one more than the longest known."""
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
        """Standard deviation of what a round costs over what a plain one does, as a share."""
        known = self.rounds.get(drafter, {}).get(k)
        seen = known.seen if known else 0
        return self.noise * math.sqrt(1 / max(1, self.plain.seen if self.plain else 0) + 1 / max(1, seen))

    def learn(self, drafter: str, k: int, seconds: float, length: int) -> Surprise:
        """Take a steady round. A gross surprise is believed when the next one agrees."""
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
        """None for a kind that is new: its first round may have compiled, and makes the entry."""
        known = self.rounds.setdefault(drafter, {})
        if k not in known and k <= self.longest(drafter) + 1:
            near, far = (self.of(drafter, k, at) / self._scale.get(drafter, 1.0) for at in (0, FAR))
            known[k] = RoundCost(near, max(0.0, far - near) / FAR, seen=0)
            return None
        return known.get(k)

    def _move(self, cost: RoundCost, drafter: str, factor: float) -> None:
        """A drafter's other lengths follow, and all that rest follow plain rounds: that is the machine."""
        own = factor ** (1 - ALONG) if drafter != PLAIN else factor
        cost.seconds, cost.growth = cost.seconds * own, cost.growth * own
        if drafter != PLAIN:
            self._recent.add(drafter)
            self._scale[drafter] = self._scale.get(drafter, 1.0) * factor / own
            return
        for rested in self.rounds.keys() - self._recent:
            self._scale[rested] = self._scale.get(rested, 1.0) * factor
        if abs(cost.surprise) < self.noise:
            self._recent.clear()

    def together(self, texts: int) -> "Costs":
        """A guess of what rounds of several texts cost, from what those of one do.

        A pass over so many rows costs about the same whosever they are, and a drafter's own part about as
        much as for one text. Lengths of which that tells nothing are left out.
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
        grown = self.plain.growth * texts
        rounds = {
            name: {
                k: RoundCost(passes[texts * (k + 1) - 1] + self.of(name, k) - passes[k], grown, seen=1)
                for k in range(1, min(self.longest(name), len(passes) // texts - 1) + 1)
            }
            for name in self.rounds
        }
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
        """Raises LookupError, TypeError, ValueError or AttributeError where the values make no sense."""
        plain = _read(values["plain"]) if values["plain"] is not None else None
        rounds = {
            str(name): {int(k): _read(cost) for k, cost in by.items()}
            for name, by in values["rounds"].items()
        }
        return cls(plain, rounds)


def _values(cost: RoundCost) -> list[float | int]:
    return [cost.seconds, cost.growth, min(cost.seen, KEPT)]


def _read(values: Any) -> RoundCost:
    seconds, growth, seen = values
    if not (0 < seconds < math.inf and 0 <= growth < math.inf):
        raise ValueError("a round takes time")
    return RoundCost(float(seconds), float(growth), int(seen))
