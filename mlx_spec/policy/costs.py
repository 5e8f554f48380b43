"""What rounds cost: seconds by drafter, draft length and context length, measured once and then learned.

Every kind of round is a line over the tokens in the context, as measured, times what was learned since
(`cost_factors.py`). What was never measured inherits from its neighbours in draft length.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlx_spec.policy.cost_factors import FAR, CostFactors

MEASURED = 4
"""Rounds that a calibrated cost is worth."""
HELD = 2
"""A first round that takes so much longer than was guessed has to be followed by another."""
PLAIN = "none"
"""Whose rounds draft nothing."""
KEPT = 10
"""Rounds that a cost may rest on at most when it is kept."""
FIRST_STEP = 0.5
"""Plain rounds that drafting one token is assumed to cost until it was tried."""


@dataclass(slots=True)
class RoundCost:
    """Seconds of one kind of round, as measured."""

    seconds: float
    """In an empty context."""
    growth: float = 0.0
    """More for every token in the context."""
    seen: int = MEASURED
    """Rounds it rests on; 0 is a guess."""


@dataclass(slots=True)
class Costs:
    """Wall time of rounds on one machine with one pair. Learns; `plain` is None until a round was seen."""

    plain: RoundCost | None = None
    rounds: dict[str, dict[int, RoundCost]] = field(default_factory=dict)
    """By drafter and draft length, as far as they are known; as measured, not as they are now."""
    _factors: CostFactors = field(default_factory=CostFactors, repr=False, compare=False)
    _first: dict[tuple[str, int], float] = field(default_factory=dict, repr=False, compare=False)
    """Seconds of the first round of a kind that was not measured, where it was that slow."""
    _lines: dict[str, "_Lines"] = field(default_factory=dict, repr=False, compare=False)

    def curve(self, drafter: str, limit: int, length: int = 0) -> np.ndarray:
        """[lengths], seconds of rounds that draft 0, 1, ... tokens with `length` tokens in the context.

        To `limit`, or one further than anybody tried: a kind that is not known is on the line between its
        neighbours, the first one beyond on the line from plain rounds through the longest.
        """
        plain = self._known(PLAIN).at(length, self._factors)
        if drafter == PLAIN:
            return plain
        lines = self._known(drafter)
        if not len(lines.ks):
            return plain * [1, 1 + FIRST_STEP][: limit + 1]
        known = lines.at(length, self._factors)
        seconds = np.empty(len(known) + 2)
        seconds[0], seconds[1:-1] = plain[0], known
        seconds[-1] = max(known[-1] + (known[-1] - plain[0]) / lines.ks[-1], plain[0])
        if len(known) < lines.ks[-1]:
            seconds = np.interp(lines.all_ks, lines.on_curve, seconds)
        return seconds[: limit + 1]

    def of(self, drafter: str, k: int, length: int = 0) -> float:
        """Seconds of a round, k at most one more than the longest known."""
        return float(self.curve(drafter, k, length)[k])

    def longest(self, drafter: str) -> int:
        """The longest draft whose cost is known."""
        return max(self.rounds.get(drafter) or (0,))

    def timed(self, drafter: str) -> int:
        """The longest draft that was timed."""
        return max((k for k, cost in self.rounds.get(drafter, {}).items() if cost.seen), default=0)

    def learn(self, drafter: str, k: int, seconds: float, length: int) -> bool:
        """Take a round that was timed. True if its kind is grossly unlike what was thought."""
        if self.plain is None:
            if not k:
                self.plain = RoundCost(seconds, seen=1)
            return False
        if k > self.longest(drafter) + 1:
            return False
        cost = self.plain
        if k:
            known = self.rounds.setdefault(drafter, {})
            if k not in known:
                # What nobody ran before may be compiled now: the first round only makes the entry.
                known[k] = self._guess(drafter, k)
                self._lines.pop(drafter, None)
                return False
            cost = known[k]
        expected = self.of(drafter, k, length)
        if not cost.seen and seconds > HELD * expected and (drafter, k) not in self._first:
            # A disturbance must not decide that it is never run again: the next one has to be as slow.
            self._first[drafter, k] = seconds
            return False
        seconds = min(seconds, self._first.pop((drafter, k), seconds))
        gross = self._factors.learn(drafter if k else PLAIN, k, seconds / expected, length)
        cost.seen += 1
        return gross and cost.seen > MEASURED

    def as_json(self) -> dict[str, Any]:
        """Plain values; `from_json` reads them."""
        rounds = {
            name: {str(k): self._values(name, k, c) for k, c in by.items()}
            for name, by in self.rounds.items()
        }
        return {"plain": self._values(PLAIN, 0, self.plain) if self.plain else None, "rounds": rounds}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Costs":
        """Raises LookupError, TypeError, ValueError or AttributeError where the values make no sense."""
        plain = _read(values["plain"]) if values["plain"] is not None else None
        rounds = {
            str(name): {int(k): _read(cost) for k, cost in by.items()}
            for name, by in values["rounds"].items()
        }
        return cls(plain, rounds)

    def _values(self, drafter: str, k: int, cost: RoundCost) -> list[float | int]:
        """The line as it is now."""
        near, far = self.of(drafter, k), self.of(drafter, k, FAR)
        return [near, max(0.0, far - near) / FAR, min(cost.seen, KEPT)]

    def _guess(self, drafter: str, k: int) -> RoundCost:
        """What the curve says of a kind nobody ran, as what was measured would be."""
        self._known(drafter)
        near, far = (
            self.of(drafter, k, length) / self._factors.drafter_at(drafter, length) for length in (0, FAR)
        )
        return RoundCost(near, max(0.0, far - near) / FAR, seen=0)

    def _known(self, drafter: str) -> "_Lines":
        if drafter not in self._lines:
            assert self.plain is not None, "plain rounds come first"
            known = {0: self.plain} if drafter == PLAIN else self.rounds.get(drafter, {})
            self._lines[drafter] = _Lines(drafter, known, self._factors)
        return self._lines[drafter]


class _Lines:
    """The kinds of one drafter that are known, side by side."""

    def __init__(self, drafter: str, known: Mapping[int, RoundCost], factors: CostFactors):
        self.drafter = drafter
        self.ks = sorted(known)
        if self.ks:
            self.all_ks = np.arange(self.ks[-1] + 2)
            self.on_curve = [0, *self.ks, self.ks[-1] + 1]
        costs = [known[k] for k in self.ks]
        self.seconds = np.array([cost.seconds for cost in costs])
        self.growth = np.array([cost.growth for cost in costs])
        factors.add_drafter(drafter, any(cost.seen >= MEASURED for cost in costs))
        places = [factors.add(drafter, k, known[k].seen >= MEASURED) for k in self.ks]
        self.places = np.array(places, int)

    def at(self, length: int, factors: CostFactors) -> np.ndarray:
        """[ks], seconds now."""
        return (self.seconds + self.growth * length) * factors.all_at(self.drafter, self.places, length)


def _read(values: Any) -> RoundCost:
    seconds, growth, seen = values
    if not (seconds > 0 and growth >= 0):
        raise ValueError("a round takes time")
    return RoundCost(float(seconds), float(growth), int(seen))
