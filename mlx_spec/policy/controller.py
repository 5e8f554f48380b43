"""How long to draft, and by whom: the choice that writes the next tokens soonest.

E(k) / C(k) over drafters and lengths k: expected tokens of a round over its wall time, plain rounds
(k = 0) included, with what a round would teach counted in (`prospects.py`). Both are learned from the
rounds that were read; costs are better known beforehand (`measuring.py`). A drafter that rests reads the
text now and then and says what it would have drafted: that costs a step of its own and no pass of the
target. Lossless whatever it chooses: it looks at nothing but rounds before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlx_spec.policy.acceptance import Acceptance
from mlx_spec.policy.costs import PLAIN, Costs
from mlx_spec.policy.plan import NO_CANDIDATE, Candidate
from mlx_spec.policy.prospects import Prospect, best
from mlx_spec.types import Round

MARGIN = 1.01
"""Drafting has to promise this much more than plain decoding."""
AS_GOOD = 1.03
"""More rows than a fused kernel takes have to promise this much more than fewer."""
AHEAD = 5
"""Tokens that an answer is expected to go on for. Few: what a refused draft teaches may come too late to be
used, and plain decoding is what nobody may fall behind."""
PLAIN_FIRST = 3
"""Plain rounds to time before drafting starts where costs were not measured."""
REVIEW_FIRST = 3
"""Tokens that a drafter rests before it reviews them; then twice as many, and so on."""
PROBE_FIRST, PROBE_LAST = 16, 1024
"""Rounds between two looks at what is not chosen: doubled every time, begun anew after a surprise."""
RESTING = 4
"""Looks from plain rounds are so much rarer: they cost the most."""
PLAIN_PROBE = 3
"""Plain rounds of a look: only those between others of their kind are timed."""
READING = 1 / 32
"""Draft steps that it takes to read a missed token, until it was seen."""
WELL_TIMED = 8
"""Plain rounds that have to be timed before a choice of one stands for more: weighing takes its time too."""
RESTS, TOKENS_PER_REST = 8, 8
"""Plain rounds that follow then at most, one for each of so many tokens written: they teach little."""
FAR_BEHIND = 32
"""Missed tokens from which on the reading of them is timed."""
BELIEVED = 0.3
"""How much the latest such time counts."""


@dataclass(slots=True)
class Settled:
    """A choice that stands for some rounds as long as the same is candidates_then."""

    candidates_then: list[tuple[str, int]] = field(default_factory=list)
    """Kinds and limits."""
    index: int = -1
    k: int = 0
    is_longest: bool = False
    """Nothing longer was to be had."""
    rounds: int = 0


class Controller:
    """Chooses drafter and length of each round; one per loaded pair, kept across turns.

    Args:
        edges: rows after which a target pass leaves a faster path (`widths.edges`).
    """

    def __init__(self, costs: Costs | None = None, edges: Sequence[int] = ()):
        self.costs = costs or Costs()
        self.acceptance: dict[str, Acceptance] = {}
        self.edges = sorted(edges)
        self.reading: dict[str, float] = {}
        """Seconds a drafter takes per token that it missed."""
        self._stood: dict[str, int] = {}
        """The longest draft of a drafter that stood as a whole."""
        self._written = 0
        """Tokens of this answer."""
        self._review_after = REVIEW_FIRST
        self._probe_after = PROBE_FIRST
        self._quiet = 0
        """Rounds since the last look."""
        self._looks = 0
        self._look: tuple[str, int] | None = None
        """Drafter and length that are looked at until a round of them was read."""
        self._plain_left = 0
        self._idle = 0
        """Plain rounds that are not counted as such yet."""
        self._settled = Settled()

    def begin(self) -> None:
        """A new prompt."""
        self._look, self._settled = None, Settled()
        self._written, self._review_after = 0, REVIEW_FIRST
        for known in self.acceptance.values():
            known.begin()

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        """Whose draft of how many tokens; 0 is a plain round, which the drafter of the candidate reviews."""
        plain = self.costs.plain
        if plain is None or plain.seen < PLAIN_FIRST or self._plain_left or not candidates:
            return NO_CANDIDATE, 0
        for candidate in candidates:
            if self._look and self._look[0] == candidate.drafter:
                return candidate, self._look[1]
        candidates_then = [(candidate.kind, candidate.limit) for candidate in candidates]
        settled = self._settled
        if (
            settled.rounds
            and candidates_then == settled.candidates_then
            and self._quiet < self._look_after(settled.k)
        ):
            return candidates[settled.index] if settled.k else NO_CANDIDATE, settled.k
        pace = self.costs.of(PLAIN, 0, length) / MARGIN
        prospects = [self._prospect(candidate, length, pace) for candidate in candidates]
        index, k = best(prospects, pace, AHEAD)
        candidate = candidates[index] if k else NO_CANDIDATE
        if self._quiet >= self._look_after(k):
            return self._look_at(candidates, candidate, k)
        if not k:
            for candidate, prospect in zip(candidates, prospects, strict=True):
                if candidate.shadows >= self._review_after and self._worth_a_review(prospect, pace):
                    return candidate, 0
            # Nothing is learned before the next review.
            unknown = self._review_after - max(candidate.shadows for candidate in candidates)
            rests = min(max(self._written // TOKENS_PER_REST, unknown), RESTS)
            self._settled = Settled(candidates_then, rounds=rests * (plain.seen >= WELL_TIMED))
            return NO_CANDIDATE, 0
        self._settled = Settled(candidates_then, index, k, is_longest=k == candidate.limit)
        return candidate, k

    def count(self, read: Round, candidate: Candidate, length: int) -> None:
        """Take a round that was read."""
        drafted = len(read.drafted)
        if drafted and candidate.behind >= FAR_BEHIND:
            self._learn_reading(read, candidate, length)
        self._written += len(read.tokens)
        if drafted:
            self._known(candidate).count(drafted, read.accepted)
            if read.accepted == drafted:
                self._stood[candidate.drafter] = max(drafted, self._stood.get(candidate.drafter, 0))
        elif candidate is not NO_CANDIDATE:
            self._review_after *= 2
        else:
            self._idle += 1
        self._plain_left = max(0, self._plain_left - (not drafted))
        if self._look and self._look[0] == candidate.drafter:
            self._look = None
        self._quiet += 1
        settled = self._settled
        if drafted:
            # What stood as a whole, and could not be longer, is as good once more.
            settled.rounds = int(settled.is_longest and read.accepted == settled.k)
        elif settled.rounds:
            settled.rounds -= 1
            return
        for known in self.acceptance.values() if self._idle else ():
            known.idle(self._idle)
        self._idle = 0
        if read.steady and self.costs.learn(read.drafter, drafted, read.seconds, length):
            self._probe_after = PROBE_FIRST
            self._plain_left = PLAIN_PROBE if drafted else 0

    def shadow(self, candidate: Candidate, right: Sequence[bool]) -> None:
        """Take what a drafter says it would have drafted of the latest tokens."""
        self._known(candidate).shadow(right)

    def as_json(self) -> dict[str, Any]:
        """What was learned, as plain values; `restore` takes them back."""
        counted = {kind: known.as_json() for kind, known in self.acceptance.items()}
        return {"costs": self.costs.as_json(), "acceptance": counted, "reading": dict(self.reading)}

    def restore(self, values: Mapping[str, Any]) -> None:
        """Raises LookupError, TypeError, ValueError or AttributeError, and changes nothing then."""
        costs = Costs.from_json(values["costs"])
        counted = {str(kind): Acceptance.from_json(known) for kind, known in values["acceptance"].items()}
        reading = {str(name): float(seconds) for name, seconds in values["reading"].items()}
        self.costs, self.acceptance, self.reading = costs, counted, reading

    def _known(self, candidate: Candidate) -> Acceptance:
        if candidate.kind not in self.acceptance:
            self.acceptance[candidate.kind] = Acceptance(candidate.prior)
        return self.acceptance[candidate.kind]

    def _prospect(self, candidate: Candidate, length: int, plain: float) -> Prospect:
        # Beyond what was timed, one token at a time, and only after all before it stood once.
        timed = self.costs.timed(candidate.drafter)
        tried = timed + (self._stood.get(candidate.drafter, 0) >= timed)
        seconds = self.costs.curve(candidate.drafter, min(candidate.limit, tried), length)
        if self.edges:
            seconds *= AS_GOOD ** np.searchsorted(self.edges, np.arange(len(seconds)) + 1)
        seconds[0] = plain
        reading = self.reading.get(candidate.drafter, READING * float(seconds[-1] - seconds[-2]))
        return Prospect(self._known(candidate), seconds, max(0.0, candidate.behind * reading))

    def _learn_reading(self, read: Round, candidate: Candidate, length: int) -> None:
        expected = self.costs.of(read.drafter, len(read.drafted), length)
        took = max(0.0, read.seconds - expected) / candidate.behind
        before = self.reading.get(read.drafter, took)
        self.reading[read.drafter] = before + BELIEVED * (took - before)

    def _worth_a_review(self, prospect: Prospect, plain: float) -> bool:
        """Whether knowing would save more in as many tokens as were written than asking costs."""
        step = prospect.seconds[-1] - prospect.seconds[-2]
        return prospect.worth_knowing(plain) * self._written >= float(step) + prospect.once

    def _look_after(self, k: int) -> int:
        """Rounds after which something else is looked at, where k is chosen."""
        return self._probe_after if k else RESTING * self._probe_after

    def _look_at(
        self, candidates: Sequence[Candidate], candidate: Candidate, k: int
    ) -> tuple[Candidate, int]:
        """By turns at plain rounds, one token more, another drafter: what is never run is never corrected."""
        self._quiet = 0
        self._looks += 1
        self._probe_after = min(2 * self._probe_after, PROBE_LAST)
        others = [other for other in candidates if other.drafter != candidate.drafter]
        turns = [*([NO_CANDIDATE, candidate] if k else []), *others]
        looked = turns[self._looks % len(turns)]
        if looked is NO_CANDIDATE:
            self._plain_left = PLAIN_PROBE
            return NO_CANDIDATE, 0
        before = k if looked is candidate else 0
        longer = min(before + 1, len(self.costs.curve(looked.drafter, looked.limit)) - 1)
        self._look = looked.drafter, longer
        return looked, longer
