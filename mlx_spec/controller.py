"""How long to draft, and by whom: the choice with the most expected tokens per second.

argmax over drafters and lengths k of E(k) / C(k): expected tokens of a round over its wall time, plain
rounds (k = 0) included. Costs are measured once per machine and pair (`Engine.measure_costs`); acceptance
is counted while decoding, and forgotten slowly. Lossless whatever it chooses: it looks at nothing but
rounds before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mlx_spec.types import Round

MEMORY = 0.97
"""What one observation leaves of those before: about 33 count."""
IDLE = 0.998
"""What a round that somebody else drafted leaves of what is known: in time it is tried again."""
NEW_PROMPT = 0.5
"""What a new prompt leaves: the next text may be of another kind."""
PRIOR = 0.5
"""Acceptance of a first position never tried; later positions inherit the one before."""
HOPE = 0.4
"""How much likelier than counted a drafter that rests may be, with nothing counted; less with more."""
MARGIN = 1.01
"""Drafting has to promise this much more than plain decoding."""


@dataclass(frozen=True, slots=True)
class Costs:
    """Wall time of rounds on one machine with one pair, in seconds."""

    plain: float
    rounds: Mapping[str, Mapping[int, float]]
    """By drafter and draft length, as measured; lengths between are on a line."""

    def of(self, drafter: str, k: int) -> float:
        """Seconds of a round, k at most the longest measured."""
        known = {0: self.plain, **self.rounds[drafter]}
        below = max(j for j in known if j <= k)
        above = min(j for j in known if j >= k)
        if below == above:
            return known[k]
        return known[below] + (known[above] - known[below]) * (k - below) / (above - below)

    def longest(self, drafter: str) -> int:
        return max(self.rounds.get(drafter, {0: 0.0}))


@dataclass(slots=True)
class Acceptance:
    """How often each draft position stood, given that all before it did."""

    stood: list[float] = field(default_factory=list)
    tried: list[float] = field(default_factory=list)

    def count(self, drafted: int, accepted: int) -> None:
        for i in range(min(drafted, accepted + 1)):
            if i == len(self.tried):
                self.stood.append(0.0)
                self.tried.append(0.0)
            self.stood[i] = self.stood[i] * MEMORY + (i < accepted)
            self.tried[i] = self.tried[i] * MEMORY + 1

    def fade(self, share: float) -> None:
        self.stood = [count * share for count in self.stood]
        self.tried = [count * share for count in self.tried]

    def expected(self, k: int, hope: float = 0.0) -> float:
        """Tokens of a round that drafts k: 1 + the survival of each position."""
        total = alive = 1.0
        rate = PRIOR
        for i in range(k):
            tried = self.tried[i] if i < len(self.tried) else 0.0
            stood = self.stood[i] if i < len(self.tried) else 0.0
            rate = (stood + rate) / (tried + 1)
            alive *= min(1.0, rate + hope / (tried + 1))
            total += alive
        return total


class Controller:
    """Chooses drafter and length of each round; one per loaded pair, kept across turns."""

    def __init__(self, costs: Costs):
        self.costs = costs
        self.acceptance = {name: Acceptance() for name in costs.rounds}

    def begin(self) -> None:
        """A new prompt."""
        for known in self.acceptance.values():
            known.fade(NEW_PROMPT)

    def choose(self, offers: Sequence[str]) -> tuple[str, int]:
        """(drafter, length) among the drafters that could draft; ("none", 0) is a plain round."""
        sure = self._best(offers, 0.0, MARGIN)
        return sure if sure[1] else self._best(offers, HOPE, 1.0)

    def count(self, read: Round) -> None:
        """Take a round that was read."""
        for name, known in self.acceptance.items():
            if name == read.drafter:
                known.count(len(read.drafted), read.accepted)
            elif not read.drafted:
                known.fade(IDLE)

    def _best(self, offers: Sequence[str], hope: float, margin: float) -> tuple[str, int]:
        best, rate = ("none", 0), margin / self.costs.plain
        for name in offers:
            for k in range(1, self.costs.longest(name) + 1):
                promised = self.acceptance[name].expected(k, hope) / self.costs.of(name, k)
                if promised > rate:
                    best, rate = (name, k), promised
        return best
