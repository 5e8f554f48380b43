"""What rounds cost: seconds by drafter, draft length and context length, measured once and then learned.

Every kind of round is a line over the tokens in the context. What was never measured inherits from its
neighbours in draft length.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median_low
from typing import Any

RATE = 0.1
"""Share of a surprise that is believed, once a kind of round is known."""
REMEMBERED = 5
"""Rounds whose middle one is believed: a compilation or a page fault among them teaches nothing."""
GROSS = 0.25
"""A surprise of this size is laid to all lengths of a drafter: the machine changed, not one length.
Not where a mere guess was wrong."""
FAR = 2048
"""Context length at which a surprise is laid half to the growth and half to the rest."""
MEASURED = 4
"""Rounds that a calibrated cost is worth."""
FIRST_STEP = 0.5
"""Plain rounds that drafting one token is assumed to cost until it was tried."""


@dataclass(slots=True)
class RoundCost:
    """Seconds of one kind of round."""

    seconds: float
    """In an empty context."""
    growth: float = 0.0
    """More for every token in the context."""
    seen: int = MEASURED
    """Rounds it rests on; 0 is a guess."""
    _recent: list[float] = field(default_factory=list, repr=False, compare=False)
    """The latest rounds over what was expected of them."""

    def at(self, length: int) -> float:
        """Seconds with `length` tokens in the context."""
        return self.seconds + self.growth * length

    def learn(self, seconds: float, length: int) -> float:
        """Move towards the latest rounds; returns by which share they were off.

        Normalised least mean squares on the line.
        """
        expected = self.at(length)
        before = [1.0] if self.seen and not self._recent else self._recent
        self._recent = [*before, seconds / expected][-REMEMBERED:]
        off = median_low(self._recent) - 1
        far = length / FAR
        step = off * self.rate * expected / (1 + far * far)
        self.seconds += step
        self.growth = max(0.0, self.growth + step * far / FAR)
        self.seen += 1
        return off

    @property
    def rate(self) -> float:
        """The share of a surprise that is believed."""
        return max(RATE, 1 / (self.seen + 1))

    def scale(self, share: float) -> None:
        """Add a share of itself."""
        self.seconds *= 1 + share
        self.growth *= 1 + share


@dataclass(slots=True)
class Costs:
    """Wall time of rounds on one machine with one pair. Learns; `plain` is None until a round was seen."""

    plain: RoundCost | None = None
    rounds: dict[str, dict[int, RoundCost]] = field(default_factory=dict)
    """By drafter and draft length, as far as they are known."""
    _filled: dict[str, list[RoundCost]] = field(default_factory=dict, repr=False, compare=False)

    def curve(self, drafter: str, limit: int) -> list[RoundCost]:
        """Rounds that draft 0, 1, ... tokens: to `limit`, or one further than anybody tried."""
        assert self.plain is not None, "plain rounds come first"
        if drafter not in self._filled:
            self._filled[drafter] = _filled(self.plain, self.rounds.get(drafter, {}))
        return self._filled[drafter][: limit + 1]

    def of(self, drafter: str, k: int, length: int = 0) -> float:
        """Seconds of a round, k at most one more than the longest known."""
        return self.curve(drafter, k)[k].at(length)

    def longest(self, drafter: str) -> int:
        """The longest draft whose cost is known."""
        return max(self.rounds.get(drafter) or (0,))

    def timed(self, drafter: str) -> int:
        """The longest draft that was timed."""
        return max((k for k, cost in self.rounds.get(drafter, {}).items() if cost.seen), default=0)

    def learn(self, drafter: str, k: int, seconds: float, length: int) -> bool:
        """Take a round that was timed. True if the latest of its kind were grossly off."""
        if self.plain is None:
            if not k:
                self.plain = RoundCost(seconds, seen=1)
            return False
        cost, known = self.plain, {}
        if k:
            if k > self.longest(drafter) + 1:
                return False
            known = self.rounds.setdefault(drafter, {})
            if k not in known:
                # What nobody ran before may be compiled now: the first round only makes the entry.
                guess = self.curve(drafter, k)[k]
                known[k] = RoundCost(guess.seconds, guess.growth, seen=0)
                self._filled.pop(drafter)
                return False
            cost = known[k]
        rate, guessed = cost.rate, cost.seen < MEASURED
        off = cost.learn(seconds, length)
        gross = abs(off) > GROSS and not guessed
        if gross:
            for other in known.values():
                if other is not cost:
                    other.scale(off * rate)
        self._forget_guesses(drafter, k)
        return gross

    def as_json(self) -> dict[str, Any]:
        """Plain values; `from_json` reads them."""
        rounds = {name: {str(k): _values(c) for k, c in by.items()} for name, by in self.rounds.items()}
        return {"plain": _values(self.plain) if self.plain else None, "rounds": rounds}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Costs":
        """Raises LookupError, TypeError, ValueError or AttributeError where the values make no sense."""
        plain = RoundCost(*_read(values["plain"])) if values["plain"] is not None else None
        rounds = {
            str(name): {int(k): RoundCost(*_read(cost)) for k, cost in by.items()}
            for name, by in values["rounds"].items()
        }
        return cls(plain, rounds)

    def _forget_guesses(self, drafter: str, k: int) -> None:
        """Guesses rest on their neighbours: made anew where there are any and one of those moved."""
        for name in [drafter] if k else list(self._filled):
            if len(self._filled.get(name, ())) != len(self.rounds.get(name, ())) + 1:
                self._filled.pop(name, None)


def _filled(plain: RoundCost, known: Mapping[int, RoundCost]) -> list[RoundCost]:
    """Every length up to one beyond the longest known: the known ones themselves, the rest on lines."""
    places = {0: plain, **known}
    longest = max(places)
    filled = []
    for k in range(longest + 1):
        below, above = max(j for j in places if j <= k), min(j for j in places if j >= k)
        filled.append(places[k] if k in places else _between(places, below, above, k))
    if not known:
        return [*filled, RoundCost(plain.seconds * (1 + FIRST_STEP), plain.growth * (1 + FIRST_STEP), 0)]
    return [*filled, _between(places, 0, longest, longest + 1)]


def _between(places: Mapping[int, RoundCost], low: int, high: int, k: int) -> RoundCost:
    share = (k - low) / (high - low)
    a, b = places[low], places[high]
    return RoundCost(
        a.seconds + share * (b.seconds - a.seconds), max(0.0, a.growth + share * (b.growth - a.growth)), 0
    )


def _values(cost: RoundCost) -> list[float | int]:
    return [cost.seconds, cost.growth, min(cost.seen, round(1 / RATE))]


def _read(values: Any) -> tuple[float, float, int]:
    seconds, growth, seen = values
    if not (seconds > 0 and growth >= 0):
        raise ValueError("a round takes time")
    return float(seconds), float(growth), int(seen)
