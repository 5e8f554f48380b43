"""Chooses drafter and draft length for the most tokens per second, never slower than plain decoding.

It maximises E(k) / C(k) over drafters and lengths k: expected tokens of a round (`acceptance.py`) over its
wall time (`costs.py`). Drafters are compared with each other by times made longer by their uncertainty, and
the best with plain rounds; the budget must cover a draft's rejection (`budget.py`). Lossless whatever it
chooses: it depends on earlier rounds only.
"""

import math
from collections.abc import Collection, Mapping, Sequence

from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.policy.acceptance import Acceptance
from mlx_spec.policy.budget import SHARE, START, Budget, start
from mlx_spec.policy.costs import PLAIN, Costs, fixed_share
from mlx_spec.policy.learned import Learned
from mlx_spec.policy.policy import Policy
from mlx_spec.policy.remaining import Remaining
from mlx_spec.policy.value import STAKE, Value
from mlx_spec.types import MAX_DRAFT_LENGTH, Round

PLAIN_FIRST = 3
"""Plain rounds to time before drafting starts, where costs were not calibrated."""
SHADOW_FIRST = 3
"""Tokens without a draft before the first shadow draft of an answer; doubled after each."""
PROBE_FIRST, PROBE_LAST = 16, 1024
"""Rounds between two probes of what is not chosen: doubled after each, reset when an outlier is believed."""
PROBE_ROUNDS = 6
"""A probe is given up after this many rounds without a steady timing, one already in flight included."""
SKIPPED, RESTED = 8, 32
"""Plain rounds between two evaluations of the same candidates, as evaluating takes time: usually, and at most
while the budget covers no draft, probe or shadow draft."""
READING = 1 / 32
"""Assumed time to read a missed token, in draft steps, until it was timed."""
FAR_BEHIND = 32
"""Missed tokens from which on reading them is timed."""
UNSTEADY = 1.5
"""Most that an unsteady round is charged, in its expected time: it may have built a graph."""
STALLED = 4.0
"""Most that a steady one is: what took longer was not the draft, but the machine or a stopped program."""


class Controller(Policy):
    """Chooses drafter and draft length of each round; one per loaded pair, kept across answers.

    A batch gets one draft length, for all of its texts; `of` gives the controller for its size.

    Args:
        texts: batch size.
    """

    def __init__(self, costs: Costs | None = None, texts: int = 1):
        self.costs = costs or Costs()
        self.texts = texts
        self._others: dict[int, Controller] = {}
        """By batch size."""
        self._batches = Budget(start(2))
        """Shared by these: what single texts gained pays for no batch."""
        self._fixed = 0.0
        """Share of a plain round's time that one text would take as well."""
        self.acceptance: dict[str, Acceptance] = {}
        self.budget = Budget()
        self.reading: dict[str, float] = {}
        """By drafter: seconds to read a token that it missed."""
        self._last_reading: dict[str, float] = {}
        """The same, as timed last: a longer time than known is believed when the next one agrees."""
        self._all_written, self._read_at = 0.0, dict[str, float]()
        """Tokens of all answers, and by drafter: as many when its reading was timed last."""
        self._remaining = Remaining()
        """Shared by batches of all sizes."""
        self._live: list[int] = []
        """The texts of the batch, by number."""
        self._written, self._shadow_after = 0.0, SHADOW_FIRST
        """Tokens of this answer (mean of the batch), tokens without a draft before the next shadow draft."""
        self._probe: tuple[str, int] | None = None
        """Drafter and draft length that run until their time was read."""
        self._probe_left, self._probes, self._probe_after, self._since_probe = 0, 0, PROBE_FIRST, 0
        """Rounds left to the probe, probes so far, rounds between two, rounds since the last."""
        self._could_draft = True
        """Whether there were candidates lately: answers without drafters bring no probe nearer."""
        self._again_at: dict[str, float] = {}
        """By candidate kind: the answer length (tokens) at which it is evaluated again."""
        self._idle = 0
        """Plain rounds since the last evaluation."""

    def of(self, texts: int) -> "Controller":
        """The controller for rounds of `texts` texts: its own costs, the same acceptance, batches' budget."""
        if texts == self.texts:
            return self
        if texts not in self._others:
            self._others[texts] = Controller(self.costs.together(texts), texts)
        other = self._others[texts]
        other.acceptance, other.budget, other._remaining = self.acceptance, self._batches, self._remaining
        other.reading = self.reading | other.reading
        other._fixed = fixed_share(self.costs, other.costs, texts)
        return other

    def begin(self, texts: Collection[int]) -> None:
        """Set the texts of the batch: some began, joined or left."""
        self._live = list(texts)
        self._probe_left, self._idle = 0, 0
        self._again_at.clear()
        self._written, self._shadow_after = 0.0, SHADOW_FIRST
        self._remaining.begin(texts)
        self.budget.begin(texts, self._fixed)
        for acceptance in self.acceptance.values():
            acceptance.begin(texts)

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        """The candidate that drafts and its draft length; 0 is a plain round, with a shadow draft by it."""
        # What a tree costs cannot be guessed: none is drafted where calibration timed none.
        candidates = [c for c in candidates if not c.nodes or self.costs.longest(c.costs_as)]
        plain, self._could_draft = self.costs.plain, bool(candidates)
        if plain is None or plain.seen < PLAIN_FIRST or not candidates:
            return NO_CANDIDATE, 0
        if self._probe_left and self._probe:
            for candidate in (NO_CANDIDATE, *candidates):
                if candidate.costs_as == self._probe[0]:
                    return candidate, min(self._probe[1], candidate.limit)
        if all(self._written < self._again_at.get(candidate.kind, 0) for candidate in candidates):
            return NO_CANDIDATE, 0
        pace, left = self.costs.of(PLAIN, 0, length), self.budget.left
        return self._evaluate([self._value(candidate, length) for candidate in candidates], pace, left)

    def count(self, read: Mapping[int, Round], candidate: Candidate, length: int) -> None:
        """Learn from a round that was read."""
        one = max(read.values(), key=lambda each: each.draft_length)  # a text that ended may have fewer
        k, gained = one.draft_length, {text: len(each.tokens) for text, each in read.items()}
        tokens = sum(gained.values()) / len(read)
        self._remaining.count(gained)
        self._written += tokens
        self._all_written += tokens
        self._since_probe += self._could_draft
        self._probe_left = max(0, self._probe_left - 1)
        if self.costs.plain:
            self._pay(one, gained, candidate, length)
        if k:
            for text, each in read.items():
                if candidate.texts is None or text in candidate.texts:
                    self._acceptance(candidate).count(text, each.draft_length, each.accepted)
            self._again_at.clear()
        elif candidate is NO_CANDIDATE:
            self._idle += 1
        else:
            self._shadow_after *= 2
        if one.steady:
            self._learn(one, candidate.costs_as if k else PLAIN, length)

    def shadow(self, text: int, candidate: Candidate, right: Sequence[bool]) -> None:
        """Learn, for each of the text's latest tokens, whether `candidate` would have predicted it."""
        self._acceptance(candidate).shadow(text, right)

    @property
    def learned(self) -> Learned:
        """As plain values; `restore` takes them back."""
        acceptance = {kind: each.learned for kind, each in self.acceptance.items()}
        others = {n: other.costs.learned for n, other in self._others.items() if other.costs.plain}
        budgets, lengths = (self.budget.kept, self._batches.kept), self._remaining.lengths
        return Learned(self.costs.learned, acceptance, dict(self.reading), budgets, others, lengths)

    def restore(self, learned: Learned) -> None:
        """Raises ValueError if they are of another version; changes nothing then."""
        self.acceptance = {kind: Acceptance.restored(each) for kind, each in learned.acceptance.items()}
        self.costs, self.reading = Costs.restored(learned.costs), dict(learned.reading)
        self.budget, self._batches = map(Budget, learned.budgets)
        self._remaining = Remaining(learned.lengths)
        self._others = {n: Controller(Costs.restored(each), n) for n, each in learned.together.items()}

    def _acceptance(self, candidate: Candidate) -> Acceptance:
        if candidate.kind not in self.acceptance:
            self.acceptance[candidate.kind] = Acceptance(candidate.prior, candidate.weight)
            self.acceptance[candidate.kind].begin(self._live)
        return self.acceptance[candidate.kind]

    def _value(self, candidate: Candidate, length: int) -> Value:
        # At most one token longer than the longest draft that was timed.
        limit = min(candidate.limit, self.costs.timed(candidate.costs_as) + 1, MAX_DRAFT_LENGTH)
        seconds = self.costs.curve(candidate.costs_as, limit, length)
        once = candidate.behind * self._reading(candidate, length)
        return Value(candidate, self._acceptance(candidate), seconds, once, self._fixed)

    def _reading(self, candidate: Candidate, length: int) -> float:
        """Seconds per missed token."""
        if candidate.drafter in self.reading or not candidate.behind:
            return self.reading.get(candidate.drafter, 0.0)
        return READING * (self.costs.of(candidate.drafter, 1, length) - self.costs.of(PLAIN, 0, length))

    def _evaluate(self, values: list[Value], plain: float, left: float) -> tuple[Candidate, int]:
        """Choose among all candidates."""
        for acceptance in self.acceptance.values() if self._idle else ():
            acceptance.idle(self._idle)
        self._idle, ahead = 0, self._remaining.expected
        lengths = [value.best(left, ahead) for value in values]
        paces = [
            value.pace[k] * (1 + self.costs.doubt(value.candidate.costs_as, k)) if k else math.inf
            for value, k in zip(values, lengths, strict=True)
        ]
        value, k, _ = min(zip(values, lengths, paces, strict=True), key=lambda each: each[2])
        if k and value.pace[k] > plain:
            k = 0
        due = self._since_probe >= self._probe_after
        if due and (probe := self._next_probe(values, value if k else None, k, left)):
            self._begin_probe(probe[0].costs_as, probe[1])
            self._probe_after = min(2 * self._probe_after, PROBE_LAST)
            return probe
        if k:
            return value.candidate, k
        return self._plain_round(values, left)

    def _plain_round(self, values: list[Value], left: float) -> tuple[Candidate, int]:
        """A plain round, with a shadow draft where one is due and pays."""
        for value in values:
            due = value.candidate.shadows >= self._shadow_after
            covered = value.step / value.seconds[0] + value.reading <= left
            if due and covered and value.worth_asking(self._remaining.expected):
                return value.candidate, 0
        rounds = max(SKIPPED, min(self._soonest(each, left) for each in values))
        until = self._written + min(rounds, RESTED)
        self._again_at |= {value.candidate.kind: until for value in values}
        return NO_CANDIDATE, 0

    def _soonest(self, value: Value, left: float) -> float:
        """Plain rounds until a draft, a probe or a shadow draft could be begun."""
        risk, shadow = value.risk(1), value.step / value.seconds[0]
        needed = (
            (max(risk / STAKE, risk + value.reading), 0),
            (risk + value.reading, self._probe_after - self._since_probe),
            (shadow + value.reading, self._shadow_after - value.candidate.shadows),
        )
        return min(max(after, (need - left) / SHARE) for need, after in needed)

    def _next_probe(
        self, values: list[Value], chosen: Value | None, k: int, left: float
    ) -> tuple[Candidate, int] | None:
        """In turn a longer draft, plain rounds, a shorter draft, other drafters: a wrong cost of a kind of
        round that never runs would never be corrected.

        None if the budget does not cover it, or if the draft would not pay even in a plain round's time.
        """
        turns = [(value, 1 + int(value.pace[1:].argmin())) for value in values if value is not chosen]
        if chosen:
            near = [j for j in dict.fromkeys((k + 1, 0, k - 1)) if j < len(chosen.seconds)]
            turns = [*((chosen, j) for j in near), *turns]
        value, j = turns[self._probes % len(turns)]
        self._probes += 1
        if not j:
            return NO_CANDIDATE, 0
        pays = value.expected[j] > 1 + self.costs.doubt(value.candidate.costs_as, j)
        drafter = value.candidate.drafter
        reading = self.reading.get(drafter, 0.0)
        once = reading * value.candidate.behind / value.seconds[0]
        if reading > value.seconds[1] - value.seconds[0]:  # hardly right, and not corrected if it never reads
            once -= SHARE * (self._all_written - self._read_at.get(drafter, 0.0))
        # A probe may take two rounds. A chain's loss is small, however high its cost is believed to be.
        loss = value.risk(j) + value.reading
        covered = max(2 * loss if value.candidate.nodes else min(loss, START), once) <= left
        return (value.candidate, j) if pays and covered else None

    def _begin_probe(self, drafter: str, k: int) -> None:
        self._probe, self._probe_left, self._since_probe = (drafter, k), PROBE_ROUNDS, 0

    def _learn(self, read: Round, name: str, length: int) -> None:
        """Learn a steady round's time; it ends a probe of its drafter, unless it is an outlier."""
        k = read.draft_length
        surprise = self.costs.learn(name, k, read.seconds, length)
        if self._probe and name == self._probe[0] and surprise not in ("gross", "new"):
            self._probe_left = 0
        if surprise == "believed" and k:  # of a plain round it says nothing of drafts: the machine paused
            self._probe_after = PROBE_FIRST
            self._begin_probe(PLAIN, 0)

    def _pay(self, read: Round, tokens: Mapping[int, int], candidate: Candidate, length: int) -> None:
        """Charge a round to the budget, and learn the time of reading missed tokens.

        Args:
            tokens: gained, by text.
        """
        if candidate is NO_CANDIDATE:
            self.budget.rest(tokens)
            return
        plain, k = self.costs.of(PLAIN, 0, length), read.draft_length
        expected = self.costs.of(candidate.costs_as, max(k, 1), length)
        once = candidate.behind * self._reading(candidate, length)
        seconds = min(read.seconds, (STALLED if read.steady else UNSTEADY) * expected + once)
        self.budget.spend(tokens, (seconds - max(0.0, once - start(self.texts) / 2 * plain)) / plain)
        if candidate.behind >= FAR_BEHIND:
            took = min(max(0.0, read.seconds - expected) / candidate.behind, plain)
            before = self._last_reading.get(candidate.drafter, self.reading.get(candidate.drafter, took))
            self.reading[candidate.drafter], self._last_reading[candidate.drafter] = min(took, before), took
            self._read_at[candidate.drafter] = self._all_written
