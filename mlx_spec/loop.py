"""The one loop, for every drafter: draft, verify in one pass of the target, accept, go on.

A round is built lazily, submitted without waiting and read one round late, while the next one runs;
rounds that need the host to know the text are read at once.
"""

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from mlx_spec.batch import Batch, Flight
from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.drafters import Drafter, checked_candidates
from mlx_spec.policy.policy import Policy
from mlx_spec.target.model import Model
from mlx_spec.text import Read
from mlx_spec.timer import Timer
from mlx_spec.verify.likeliness import likeliness

ROUNDS_IN_FLIGHT = 1
"""Rounds submitted and not yet read, where nothing needs the host to know the text."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One round before it is built."""

    candidate: Candidate
    drafter: Drafter | None
    depth: int
    timed: bool
    """Whether the draft is timed alone."""
    waits: bool
    """Whether nothing else may be in flight, before and while it runs."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Writes the texts of `batch`."""

    target: Model
    drafters: Sequence[Drafter]
    policy: Policy
    batch: Batch
    timer: Timer
    drafts_in_flight: bool
    """Whether a round with a draft may be in flight while the next one is built."""

    def step(self) -> Read:
        """Submit as many rounds as may be in flight, and read the oldest."""
        batch = self.batch
        while True:
            plan = self._plan()
            if batch.pending and plan.waits:
                return self.read()
            in_flight = 0 if plan.waits else ROUNDS_IN_FLIGHT
            self._submit(plan, in_flight)
            if len(batch.pending) > in_flight:
                return self.read()

    def _plan(self) -> Plan:
        """Choose drafter and depth of the next round. A text's first is plain: its token comes soonest."""
        live, pending, room = self.batch.live, self.batch.pending, self.batch.room()
        begun = all(text.rounds for text in live)
        candidate, depth = NO_CANDIDATE, 0
        if begun and room > 0:
            candidate, depth = self.policy.choose(self._candidates(), self.batch.longest)
        drafter = self._named(candidate.drafter)
        depth = max(0, min(depth, room, candidate.room))
        timed = depth > 0 and drafter is self._previous() and self.timer.is_due(len(pending))
        waits = not begun or room < 0 or timed or candidate.host_text
        waits = waits or (depth > 0 and not self.drafts_in_flight)
        return Plan(candidate, drafter, depth, timed, waits)

    def _previous(self) -> Drafter | None:
        """The drafter of the previous round."""
        if self.batch.pending:
            return self.batch.pending[-1].drafter
        return self._named(self.batch.live[0].rounds[-1].drafter)

    def _candidates(self) -> list[Candidate]:
        """Highest prior first. They are asked for while a round is in flight, of the text as read so far: a
        drafter that finds no match in it gives no candidate, and nothing waits."""
        numbers, length = self.batch.numbers, self.batch.length
        found = [
            c.numbered(numbers) for drafter in self.drafters for c in checked_candidates(drafter, length)
        ]
        return sorted((c for c in found if min(c.limit, c.room) > 0), key=lambda c: c.prior, reverse=True)

    def _submit(self, plan: Plan, in_flight: int) -> None:
        """Build one round and start it. Only a timed draft waits."""
        batch, start, unseen = self.batch, time.perf_counter(), self.batch.unseen
        verifier = batch.verifier(plan.depth)
        draft = batch.no_draft
        if plan.drafter:
            draft = plan.drafter.draft(batch.context(plan.candidate.nodes), plan.depth, verifier)
            draft = batch.checked(draft, plan.drafter.name, plan.depth)
        drafter = plan.drafter if draft.depth else None
        seconds = self.timer.draft_seconds(draft.tokens, start) if plan.timed and drafter else None
        p = batch.next_pass(draft)
        output = self.target.decode(p) if unseen == 1 else self.target.forward(p)
        verdict = verifier.judge(draft, p.tree, output.logits)
        self.target.commit(p, verdict)
        for observer in self.drafters:
            observer.observe(p, output, verdict)
        candidate = plan.candidate if drafter or draft.shadow is not None else NO_CANDIDATE
        usual = unseen == 1 and draft.shadow is None and not plan.timed and not plan.candidate.behind
        steady = usual and _alike(batch.pending, drafter, in_flight)
        length = batch.longest
        most = batch.likeliest
        likely = None if most is None else likeliness(output.logits, draft, verdict, most)
        result = batch.append(draft, verdict)
        batch.submit(Flight(result, draft, drafter, candidate, length, seconds, in_flight, steady, likely))

    def read(self) -> Read:
        """Wait for the oldest round in flight: a round of each text that has not ended."""
        flight, results, likely = self.batch.read()
        seconds, alone = self.timer.lap()
        alike = _alike(self.batch.pending, flight.drafter, flight.in_flight)
        steady = flight.steady and alike and alone
        texts, read = self.batch.places, Read()
        for i, text in enumerate(texts):
            if text is None or text.ended:
                continue
            whole, right = flight.unpack(results[i], seconds, steady)
            seen = len(text.tokens) + len(whole.tokens) - 1
            read.append((text, text.extend(whole, likely[i])))
            self.target.read_to(text.tokens, min(seen, len(text.tokens)), i)
            if right:
                self.policy.shadow(text.number, flight.candidate, right)
        for drafter in self.drafters:
            for i, candidate, right in drafter.commit(self.batch.texts) or ():
                if drafter is not flight.drafter and (text := texts[i]):
                    self.policy.shadow(text.number, candidate, right)
        self.policy.count({text.number: each for text, each in read}, flight.candidate, flight.length)
        self.batch.settled()
        return read

    def _named(self, name: str) -> Drafter | None:
        return next((d for d in self.drafters if d.name == name), None)


def _alike(pending: Collection[Flight], drafter: Drafter | None, count: int) -> bool:
    """Whether `count` rounds are in flight, all of this drafter."""
    alike = (flight.drafter is drafter and flight.draft.shadow is None for flight in pending)
    return len(pending) == count and all(alike)
