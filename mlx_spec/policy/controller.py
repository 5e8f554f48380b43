"""How long to draft, and by whom: the most tokens per second, and never slower than plain decoding.

E(k) / C(k) over drafters and lengths k: expected tokens of a round (`acceptance.py`) over its wall time
(`costs.py`). A draft has to beat plain rounds by the doubt in both times, and the budget has to cover its
refusal (`budget.py`). Lossless whatever it chooses: it looks at nothing but rounds before.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.policy.acceptance import Acceptance
from mlx_spec.policy.budget import START, Budget
from mlx_spec.policy.costs import PLAIN, Costs
from mlx_spec.policy.value import Value
from mlx_spec.types import Round

AS_GOOD = 1.03
"""More rows than a fused kernel takes have to promise this much more than fewer."""
PLAIN_FIRST = 3
"""Plain rounds to time before drafting starts where costs were not measured."""
SHADOW_FIRST = 3
"""Tokens that a drafter rests before it shadows them; then twice as many, and so on."""
LOOK_FIRST, LOOK_LAST = 16, 1024
"""Rounds between two looks at what is not chosen: doubled every time, begun anew after a gross surprise."""
LOOK_ROUNDS = 5
"""Rounds after which a look ends without a steady one, one already in flight included."""
RESTS = 8
"""Plain rounds between two weighings, at most, while the candidates stay the same: weighing takes time."""
AHEAD = 16
"""Tokens that an answer goes on for at least, as is expected; else for as many as were written."""
READING = 1 / 32
"""Draft steps that it takes to read a missed token, until it was seen."""
FAR_BEHIND = 32
"""Missed tokens from which on the reading of them is timed."""
BELIEVED = 0.3
"""How much the latest such time counts."""
UNSTEADY = 1.5
"""What a round that is not steady costs the budget at most, in what was expected: it may build a graph."""


class Controller:
    """Chooses drafter and length of each round; one per loaded pair, kept across answers.

    For several texts it chooses one length by the mean of what each expects; `of` gives the one that
    knows what rounds of so many cost.

    Args:
        edges: rows after which a target pass leaves a faster path (`kernels.edges`).
        texts: as many as are written together.
    """

    def __init__(self, costs: Costs | None = None, edges: Sequence[int] = (), texts: int = 1):
        self.costs = costs or Costs()
        self.texts = texts
        self._others: dict[int, Controller] = {}
        """By how many texts they are for."""
        self.acceptance: dict[str, Acceptance] = {}
        self.budget = Budget()
        self.edges = sorted(edges)
        self.reading: dict[str, float] = {}
        """Seconds a drafter takes per token that it missed."""
        self._live: list[int] = []
        """The texts that are written."""
        self._written, self._shadow_after = 0.0, SHADOW_FIRST
        """Tokens of this answer (the mean of several), and how many a drafter rests before it is asked
        about them."""
        self._look: tuple[str, int] | None = None
        """Drafter and length that are run until their time was read."""
        self._look_left, self._looks, self._look_after, self._quiet = 0, 0, LOOK_FIRST, 0
        """Rounds of the look that are left, looks so far, rounds between two, rounds since the last."""
        self._rests: dict[str, float] = {}
        """Up to how many tokens of this answer candidates of a kind need no weighing."""
        self._idle = 0
        """Plain rounds since it was last weighed."""

    def of(self, texts: int) -> "Controller":
        """For rounds of so many texts: with costs of its own, and the same acceptance and budget."""
        if texts == self.texts:
            return self
        if texts not in self._others:
            self._others[texts] = Controller(self.costs.together(texts), self.edges, texts)
        other = self._others[texts]
        other.acceptance, other.budget = self.acceptance, self.budget
        return other

    def begin(self, texts: Collection[int]) -> None:
        """Texts begin, or join others, or leave them."""
        self._live = list(texts)
        self._look_left, self._idle = 0, 0
        self._rests.clear()
        self._written, self._shadow_after = 0.0, SHADOW_FIRST
        self.budget.begin()
        for known in self.acceptance.values():
            known.begin(texts)

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        """Whose draft of how many tokens; 0 is a plain round, which the drafter of the candidate shadows."""
        plain = self.costs.plain
        if plain is None or plain.seen < PLAIN_FIRST or not candidates:
            return NO_CANDIDATE, 0
        if self._look_left and self._look:
            for candidate in (NO_CANDIDATE, *candidates):
                if candidate.costs_as == self._look[0]:
                    return candidate, min(self._look[1], candidate.limit)
        if all(self._written < self._rests.get(candidate.kind, 0) for candidate in candidates):
            return NO_CANDIDATE, 0
        pace = self.costs.of(PLAIN, 0, length)
        if (left := self.budget.left(pace)) <= 0:
            return NO_CANDIDATE, 0
        return self._weigh([self._value(candidate, length) for candidate in candidates], pace, left)

    def count(self, read: Mapping[int, Round], candidate: Candidate, length: int) -> None:
        """Take a round that was read."""
        one = max(read.values(), key=lambda each: each.draft_length)  # who ended may have drafted less
        k, tokens = one.draft_length, sum(len(each.tokens) for each in read.values()) / len(read)
        self._written += tokens
        self._quiet += 1
        self._look_left = max(0, self._look_left - 1)
        if self.costs.plain:
            self._pay(one, tokens, candidate, length)
        if k:
            for text, each in read.items():
                self._known(candidate).count(text, each.draft_length, each.accepted)
            self._rests.clear()
        elif candidate is NO_CANDIDATE:
            self._idle += 1
        else:
            self._shadow_after *= 2
        if one.steady:
            self._learn(one, candidate.costs_as if k else PLAIN, length)

    def shadow(self, text: int, candidate: Candidate, right: Sequence[bool]) -> None:
        """Take which of a text's latest tokens a drafter would have drafted."""
        self._known(candidate).shadow(text, right)

    def as_json(self) -> dict[str, Any]:
        """What was learned, as plain values; `restore` takes them back."""
        counted = {kind: known.as_json() for kind, known in self.acceptance.items()}
        others = {n: other.costs.as_json() for n, other in self._others.items() if other.costs.plain}
        return {"costs": self.costs.as_json(), "acceptance": counted, "reading": dict(self.reading),
                "budget": self.budget.kept, "together": others}  # fmt: skip

    def restore(self, values: Mapping[str, Any]) -> None:
        """Raises LookupError, TypeError, ValueError or AttributeError, and changes nothing then."""
        costs = Costs.from_json(values["costs"])
        counted = {str(kind): Acceptance.from_json(known) for kind, known in values["acceptance"].items()}
        reading = {str(name): float(seconds) for name, seconds in values["reading"].items()}
        budget = Budget(float(values["budget"]))
        others = {int(n): Costs.from_json(known) for n, known in values["together"].items()}
        self.costs, self.acceptance, self.reading, self.budget = costs, counted, reading, budget
        self._others = {n: Controller(known, self.edges, n) for n, known in others.items()}

    def _known(self, candidate: Candidate) -> Acceptance:
        if candidate.kind not in self.acceptance:
            self.acceptance[candidate.kind] = Acceptance(candidate.prior)
            self.acceptance[candidate.kind].begin(self._live)
        return self.acceptance[candidate.kind]

    def _value(self, candidate: Candidate, length: int) -> Value:
        # Beyond what was timed, one token at a time.
        limit = min(candidate.limit, self.costs.timed(candidate.costs_as) + 1)
        seconds = self.costs.curve(candidate.costs_as, limit, length)
        if self.edges:
            rows = self.texts * np.arange(1, len(seconds) + 1)
            beyond = np.searchsorted(self.edges, rows)
            seconds *= AS_GOOD ** (beyond - beyond[0])
        return Value(
            candidate, self._known(candidate), seconds, candidate.behind * self._reading(candidate, length)
        )

    def _reading(self, candidate: Candidate, length: int) -> float:
        """Seconds per missed token."""
        if candidate.drafter in self.reading or not candidate.behind:
            return self.reading.get(candidate.drafter, 0.0)
        return READING * (self.costs.of(candidate.drafter, 1, length) - self.costs.of(PLAIN, 0, length))

    def _weigh(self, values: list[Value], plain: float, left: float) -> tuple[Candidate, int]:
        """The choice, by all that is known."""
        for known in self.acceptance.values() if self._idle else ():
            known.idle(self._idle)
        self._idle = 0
        lengths = [value.best(left, max(self._written, float(AHEAD))) for value in values]
        paces = [value.pace[k] if k else plain for value, k in zip(values, lengths, strict=True)]
        first = int(np.argmin(paces))
        value, k = values[first], lengths[first]
        if k and paces[first] * (1 + self.costs.doubt(value.candidate.costs_as, k)) > plain:
            k = 0
        if self._quiet >= self._look_after and (
            looked := self._next_look(values, value if k else None, k, left)
        ):
            self._look_at(looked[0].costs_as, looked[1])
            self._look_after = min(2 * self._look_after, LOOK_LAST)
            return looked
        if k:
            return value.candidate, k
        return self._rest(values, left)

    def _rest(self, values: list[Value], left: float) -> tuple[Candidate, int]:
        """A plain round, beside a shadow draft where one is due and pays."""
        for value in values:
            asked = value.candidate.shadows >= self._shadow_after
            covered = value.step / value.seconds[0] + value.reading <= left
            if asked and covered and value.worth_asking(max(self._written, float(AHEAD))):
                return value.candidate, 0
        due = self._shadow_after - max(value.candidate.shadows for value in values)
        until = self._written + min(max(int(self._written) // RESTS, due), RESTS)
        self._rests |= {value.candidate.kind: until for value in values}
        return NO_CANDIDATE, 0

    def _next_look(
        self, values: list[Value], chosen: Value | None, k: int, left: float
    ) -> tuple[Candidate, int] | None:
        """By turns plain rounds, a longer and a shorter draft, others: what never runs is never corrected.

        None where the budget does not cover it, or where the draft would not pay were it for nothing.
        """
        turns = [(value, 1 + int(value.pace[1:].argmin())) for value in values if value is not chosen]
        if chosen:
            turns += [(chosen, j) for j in dict.fromkeys((0, k + 1, k - 1)) if j < len(chosen.seconds)]
        self._looks += 1
        value, j = turns[self._looks % len(turns)]
        if not j:
            return NO_CANDIDATE, 0
        pays = value.expected[j] > 1 + self.costs.doubt(value.candidate.costs_as, j)
        return (value.candidate, j) if pays and min(value.risk(j) + value.reading, START) <= left else None

    def _look_at(self, drafter: str, k: int) -> None:
        self._look, self._look_left, self._quiet = (drafter, k), LOOK_ROUNDS, 0

    def _learn(self, read: Round, name: str, length: int) -> None:
        """Take a steady round's time; it ends a look, unless it was grossly unlike what was thought."""
        k = read.draft_length
        surprise = self.costs.learn(name, k, read.seconds, length)
        if self._look and name == self._look[0] and surprise != "gross":
            self._look_left = 0
        if surprise == "believed":
            self._look_after = LOOK_FIRST
            if k:
                self._look_at(PLAIN, 0)

    def _pay(self, read: Round, tokens: float, candidate: Candidate, length: int) -> None:
        """Lay a round to the budget, and learn from it what reading takes."""
        plain, k = self.costs.of(PLAIN, 0, length), read.draft_length
        if candidate is NO_CANDIDATE:
            self.budget.rest(tokens, plain)
            return
        expected = self.costs.of(candidate.costs_as, max(k, 1), length)
        once = candidate.behind * self._reading(candidate, length)
        seconds = read.seconds if read.steady else min(read.seconds, UNSTEADY * expected + once)
        self.budget.spend(tokens, seconds - max(0.0, once - START / 2 * plain))
        if candidate.behind >= FAR_BEHIND:
            took = max(0.0, read.seconds - expected) / candidate.behind
            before = self.reading.get(candidate.drafter, took)
            self.reading[candidate.drafter] = before + BELIEVED * (took - before)
