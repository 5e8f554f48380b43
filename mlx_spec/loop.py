"""The one loop, over the rounds of one generation.

A round is built lazily (draft, verify pass, acceptance, the new length), submitted without waiting
and read one round late, while the next one runs; drafted rounds on the CPU backend are read at once.
The length of the text therefore lives on the device; the host knows bounds of it.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import mlx.core as mx

from mlx_spec.drafters import Context, Drafter
from mlx_spec.drafters.choice import Choice
from mlx_spec.policy.plan import NO_OFFER, Offer
from mlx_spec.target.cache import CAPACITY_STEP, Extent, round_up
from mlx_spec.target.model import Progress
from mlx_spec.types import Options, Round, StopReason
from mlx_spec.verify.verifiers import NO_DRAFT, Draft, RoundRule, RuleBook

if TYPE_CHECKING:
    from mlx_spec.engine import Engine

ROUNDS_IN_FLIGHT = 1
"""Rounds submitted and not yet read, where nothing needs the host to know the text."""
SHORT_TAIL = 64
"""Prompt tokens that the first round takes along instead of a prefill pass of their own. Their logits are
computed and not used, which costs less than a pass over the weights."""
RECURRENT_TAIL = 16
"""The same with recurrent layers, which may have to read them twice."""
TIMED_EVERY, TIMED_FIRST = 64, 4
"""One drafted round in so many is timed in two parts, draft and verify; it is read at once. The first comes
soon: many answers have no more than ten rounds."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A round that was submitted and not yet read."""

    result: mx.array
    """What `_verify` or `_plain` returned."""
    drafted: int
    drafter: Drafter | None
    offer: Offer
    length: int
    """Tokens in the context when it was planned, as far as they were read."""
    draft_seconds: float | None
    reviewed: int
    """Tokens that a resting drafter looked back at, at the end of `result`."""
    behind: int
    """Rounds in flight while it runs, as planned."""
    steady: bool
    """When it was submitted, just those were in flight, and of its own kind."""


class Turn:
    """One generation."""

    def __init__(self, engine: "Engine", prompt: list[int], options: Options, choice: Choice):
        self.engine = engine
        self.target = engine.target
        self.known = prompt
        self.prompt_length = len(prompt)
        self.options = options
        self.choice = choice
        self.book = RuleBook(options, engine.target.vocab)
        self.limit = min(engine.context_limit, len(prompt) + options.max_tokens)
        self.length = Extent.exact(len(prompt))
        """Tokens of the text, as far as rounds are submitted."""
        self.context = mx.zeros((0,), mx.int32)
        """[capacity], the text on the device; meaningless from `length` on."""
        self.pending: deque[_Pending] = deque()
        self.rounds: list[Round] = []
        self.cached_tokens = 0
        self.prefill_seconds = 0.0
        self.unseen = 1
        """Tokens at the end of the text that the target has not seen: one, more in the first round."""
        self.read_at, self.graphs_then, self.timed_next = 0.0, engine.graphs_built, TIMED_FIRST

    def run(self, documents: Sequence[Sequence[int]], progress: Progress | None) -> Iterator[Round]:
        """The rounds, each as soon as it is read; the arguments are those of `Engine.generate`.

        Raises:
            SpecError: another answer began meanwhile. Whatever `progress` raises comes through too.
        """
        self.engine.hold(self)
        self._prefill(documents, progress)
        self.choice.planner.begin()
        while not self._stopped():
            self.engine.hold(self)
            offer, k, timed = self._plan()
            drafter = self.choice.named(offer.drafter)
            waits = timed or not self.rounds or (drafter is not None and self._reads_first(drafter, k))
            if self.pending and (waits or not self._has_room()):
                yield self._read()
                continue
            behind = 0 if waits else ROUNDS_IN_FLIGHT
            self._submit(drafter, offer, k, timed, behind)
            while len(self.pending) > behind and not self._stopped():
                yield self._read()

    def _reads_first(self, drafter: Drafter, k: int) -> bool:
        """Whether a round in which it drafts k tokens begins and ends with nothing in flight."""
        return drafter.reads_host or (k > 0 and not self.engine.drafts_in_flight)

    def _prefill(self, documents: Sequence[Sequence[int]], progress: Progress | None) -> None:
        mx.reset_peak_memory()
        start = time.perf_counter()
        self.cached_tokens = self.target.prefill(self.known, self._prefilled(), progress)
        self.unseen = self.prompt_length - self.target.seen
        for drafter in self.choice.all:
            drafter.begin(self.known, documents)
        self._reserve(self.prompt_length)
        self.context[: self.prompt_length] = mx.array(self.known, mx.int32)
        self.read_at = time.perf_counter()
        self.prefill_seconds = self.read_at - start

    def _stopped(self) -> bool:
        return bool(self.rounds) and self.rounds[-1].stop is not None

    def _prefilled(self) -> int:
        """How far to prefill: all but the last token, or nothing where a short tail is all there is.

        A recurrent target can go on from the end of a prefill. The next turn's prompt may not share the
        last tokens of this one (a mark for the answer to begin): they are always left as a tail.
        """
        rest = self.prompt_length - self.target.shared(self.known)
        tail = RECURRENT_TAIL if self.target.recurrent else SHORT_TAIL
        if not 1 <= rest <= tail:
            rest = tail if self.target.recurrent else 1
        return max(0, self.prompt_length - rest)

    def _has_room(self) -> bool:
        """Whether one more round is wanted whatever the rounds in flight bring."""
        return self.length.low < self.limit and self.length.high < self.engine.context_limit

    def _plan(self) -> tuple[Offer, int, bool]:
        """Who drafts the next round, how long, and whether it is timed in two parts.

        A round gains at most k + 1 tokens: k is cut where the text must end. Nobody drafts the first:
        its token comes as soon as without a drafter, which then reads the prompt.
        """
        room = min(self.limit - self.length.low, self.engine.context_limit - self.length.high) - 1
        if not self.rounds or room <= 0:
            return NO_OFFER, 0, False
        offer, k = self.choice.planner.choose(self.choice.offers(), len(self.known))
        return offer, min(k, room), k > 0 and len(self.rounds) + len(self.pending) >= self.timed_next

    def _submit(self, drafter: Drafter | None, offer: Offer, k: int, timed: bool, behind: int) -> None:
        """Build one round and start it, to be read with so many `behind` it. Only a timed draft waits.

        A drafter that is to draft nothing reviews what others wrote, beside a plain round.
        """
        start = time.perf_counter()
        context = Context(self.known, self.context, self.length)
        rule = self.book.open(self.context, self.length, k)
        reads_host = drafter is not None and drafter.reads_host
        draft = drafter.draft(context, k, rule) if drafter and k else NO_DRAFT
        right = drafter.review(context, self.book) if drafter and not k else mx.zeros((0,), mx.int32)
        # A drafter that has caught up with the text did more than draft.
        usual = self.unseen == 1 and not timed and (drafter is None or drafter.reads_host == reads_host)
        seconds = _seconds_of(draft, start) if timed else None
        if not draft.length:
            drafter, offer, seconds = None, offer if right.size else NO_OFFER, None
        if seconds is not None:
            self.timed_next = len(self.rounds) + TIMED_EVERY
        steady = usual and not right.size and self._flies(drafter, behind)
        if draft.length:
            result = self._verify(draft, rule, context)
        else:
            own = self._plain(rule, context)
            result = mx.concatenate([own, right]) if right.size else own
        self.pending.append(
            _Pending(
                result, draft.length, drafter, offer, len(self.known), seconds, right.size, behind, steady
            )
        )
        if drafter is None:
            for other in self.choice.all:
                other.skipped(1)
        mx.async_eval(result, self.context)

    def _flies(self, drafter: Drafter | None, count: int) -> bool:
        """Whether the rounds in flight are so many, and all of this drafter."""
        alike = all(p.drafter is drafter and not p.reviewed for p in self.pending)
        return len(self.pending) == count and alike

    def _plain(self, rule: RoundRule, context: Context) -> mx.array:
        """The target's own next token: [1]."""
        logits = self._pass(context, NO_DRAFT)
        own = mx.argmax(rule.scores(logits), axis=-1).astype(mx.int32)
        self._append(own, 0)
        return own

    def _verify(self, draft: Draft, rule: RoundRule, context: Context) -> mx.array:
        """One target pass over the draft: [1 + k + k + 1], accepted, the draft, the tokens gained."""
        count, bonus = rule.judge(draft, self._pass(context, draft))
        accepted = count[None]
        gained = mx.where(mx.arange(draft.length + 1) < accepted, mx.pad(draft.tokens, (0, 1)), bonus)
        self._append(gained, accepted)
        return mx.concatenate([accepted, draft.tokens, gained])

    def _pass(self, context: Context, draft: Draft) -> mx.array:
        """The target's logits after the last token and after each drafted one: [k + 1, vocab]."""
        unseen, self.unseen = self.unseen, 1
        ids = context.last(unseen)
        if draft.length:
            ids = mx.concatenate([ids, draft.tokens])
        if unseen > 1:
            return self.target.forward(ids, self.length.plus(-unseen))[unseen - 1 :]
        return self.target.decode(ids, self.length.plus(-1))

    def _append(self, gained: mx.array, accepted: mx.array | int) -> None:
        """Write the tokens gained to the text on the device and let its length grow."""
        count, length = gained.shape[0], self.length
        self._reserve(length.high + count)
        if isinstance(length.value, int):
            self.context[length.value : length.value + count] = gained
        else:
            self.context = mx.slice_update(self.context, gained, length.value, axes=(0,))
        self.length = Extent(length.value + (accepted + 1), length.low + 1, length.high + count)

    def _reserve(self, end: int) -> None:
        """Room for `end` tokens on the device."""
        if end > self.context.shape[0]:
            more = round_up(end, CAPACITY_STEP) - self.context.shape[0]
            self.context = mx.concatenate([self.context, mx.zeros((more,), mx.int32)])

    def _read(self) -> Round:
        """Wait for the oldest round in flight and take its tokens: the one host read of a round."""
        pending, before = self.pending.popleft(), len(self.known)
        values = cast(list[int], pending.result.tolist())
        reviewed = [bool(right) for right in values[len(values) - pending.reviewed :]]
        drafted, gained = _unpack(values[: len(values) - pending.reviewed], pending.drafted)
        accepted = len(gained) - 1
        tokens, stop = self._cut(gained)
        self.known += tokens
        self.target.tokens, self.target.seen = self.known, min(before + accepted, len(self.known))
        for drafter in self.choice.all:
            if pending.drafter is not None and drafter is not pending.drafter:
                drafter.skipped(len(gained))
            drafter.keep(self.known)
            for offer, right in drafter.hindsight():
                if drafter is not pending.drafter:
                    self.choice.planner.review(offer, [right])
        if reviewed:
            self.choice.planner.review(pending.offer, reviewed)
        self._settle(before + len(gained))
        now, graphs = time.perf_counter(), self.engine.graphs_built
        drafted = drafted[: len(tokens)] if stop is not None else drafted
        last = Round(
            drafted=tuple(drafted),
            accepted=min(accepted, len(tokens)),
            tokens=tuple(tokens),
            drafter=pending.drafter.name if pending.drafter else "none",
            seconds=now - self.read_at,
            stop=stop,
            draft_seconds=pending.draft_seconds,
            # A draft that is cut here took as long as the whole of it.
            steady=pending.steady
            and self._flies(pending.drafter, pending.behind)
            and graphs == self.graphs_then
            and len(drafted) == pending.drafted,
        )
        self.read_at, self.graphs_then = now, graphs
        self.rounds.append(last)
        self.choice.planner.count(last, pending.offer, pending.length)
        return last

    def _cut(self, gained: list[int]) -> tuple[list[int], StopReason | None]:
        """The tokens up to the first stop, and why they stop there."""
        for i, token in enumerate(gained, 1):
            if token in self.options.stop_tokens:
                return gained[:i], "stop"
            if len(self.known) + i >= self.limit:
                return gained[:i], "length"
        return gained, None

    def _settle(self, length: int) -> None:
        """Bring the bounds of the length up to what was read."""
        low = length + len(self.pending)
        high = length + sum(pending.drafted + 1 for pending in self.pending)
        assert self.length.low <= high and low <= self.length.high, "a round left its bounds"
        self.length = Extent(low if low == high else self.length.value, low, high)


def _unpack(values: list[int], k: int) -> tuple[list[int], list[int]]:
    """(the draft, the tokens gained) from a round's result."""
    if k == 0:
        return [], values
    accepted, drafted, gained = values[0], values[1 : 1 + k], values[1 + k :]
    return drafted, gained[: accepted + 1]


def _seconds_of(draft: Draft, start: float) -> float:
    mx.eval(draft.tokens)
    return time.perf_counter() - start
