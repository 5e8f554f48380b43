"""Measures the costs of rounds: the engine's own, timed on a made-up text at two context lengths."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product, takewhile
from statistics import median_low
from typing import NamedTuple

import numpy as np

from mlx_spec.candidate import NO_CANDIDATE, TREES, Candidate, rows_of
from mlx_spec.drafters import Drafter
from mlx_spec.drafters.guess import Guess
from mlx_spec.engine import Engine
from mlx_spec.policy.costs import Costs, RoundCost
from mlx_spec.policy.policy import Policy
from mlx_spec.types import DrafterName, Options

SECONDS = 4.0
"""After this time no further kind of round is begun; reading texts comes on top."""
NEAR, FAR = 64, 2048
"""Context lengths, where the model's context allows."""
FIRST = (3, 8, 1, 2, 15, 4, 5, 31)
"""Draft lengths that are timed first, the most useful ones leading."""
REST = (6, 7, 10, 12, 9, 11, 13, 14, 23)
DRAFTED = (1, 3, 15)
"""Draft lengths at which drafters that step a model are timed: each step costs about the same."""
DEPTHS = (3, 6)
"""Depths at which trees are timed."""
LONG = 7
"""Drafted tokens that show the time of a step: the time of a single one is lost in the machine's noise."""
TIMED_ROUNDS = 2
"""Rounds of a kind per sweep."""
GOES = 6
"""Sweeps over all kinds, if time allows."""
BUILDING = 5
"""The most time that building graphs and kernels may add, in times of the measuring's own."""
TRIES = 3
"""Times that a kind is timed at most in a sweep, where the machine changes its speed meanwhile."""
UNEVEN = 1.25
"""How much slower a round may be than one with a longer draft, or a plain one than the last; more was a
disturbance."""


class Kind(NamedTuple):
    """A kind of round: drafter, draft length, context length."""

    drafter: str
    """As in `Candidate.costs_as`."""
    k: int
    context: int


class OneKind(Policy):
    """Plans rounds of one kind, and learns nothing from them."""

    def __init__(self, kind: Kind):
        self.kind = kind

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        found = [c for c in candidates if c.costs_as == self.kind.drafter]
        return (found[0], self.kind.k) if found else (NO_CANDIDATE, 0)


def calibrate(
    engine: Engine,
    progress: Callable[[int, int], None] = lambda done, total: None,
    skipped: Callable[[], bool] = lambda: False,
) -> "Calibration":
    """Measure costs until done or `skipped`, and give them to the engine's controller; `progress` gets (kinds
    of round timed, all kinds)."""
    calibration = Calibration(engine)
    try:
        for done, total in calibration.run(SECONDS):
            progress(done, total)
            if skipped():
                break
    finally:
        calibration.finish()
    return calibration


class Calibration:
    """Times rounds kind by kind. It may be stopped at any time: what was timed by then is used."""

    def __init__(self, engine: Engine):
        self.engine = engine
        limit = engine.context_limit
        self.near, self.far = max(1, min(NEAR, limit // 4)), max(1, min(FAR, limit // 2))
        if not engine.can_pretend:
            self.far = self.near  # reading a long text takes too long
        self.contexts = list(dict.fromkeys((self.near, self.far)))
        self.timed_drafters = [drafter.name for drafter in engine.drafters if drafter.takes_time]
        """Drafters whose drafts take time."""
        self.free = [drafter.name for drafter in engine.drafters if not drafter.takes_time] or [Guess.name]
        """The others, whose rounds cost what passes of the target do. If there are none, a name for those
        costs, from which costs of batches are estimated."""
        self.trees = [f"{d.name}{TREES}{nodes}" for d in engine.drafters if d.trees for nodes in d.nodes]
        """Drafters with a size of their trees, as in `Candidate.costs_as`."""
        self.plain: list[float] = []
        """Seconds of a plain round at the near context, each time it was timed."""
        self.times: dict[Kind, list[float]] = {}
        """Times of all other kinds, in plain rounds timed just before and after."""
        self.reading: dict[DrafterName, float] = {}
        """Seconds of a round in which a drafter reads the whole near text and drafts one token."""
        self._building = 0.0
        """Seconds beyond the rounds' own: graphs and kernels were built, mostly in a machine's first run."""

    def run(self, seconds: float = SECONDS) -> Iterator[tuple[int, int]]:
        """Measure; yields (kinds timed, kinds in all). Later sweeps time the same kinds again."""
        deadline = time.perf_counter() + seconds
        kinds, reading = self.kinds(), [drafter for drafter in self.engine.drafters if drafter.models]
        count = 1 + len({*kinds, *(kind for drafter in reading for kind in self._beside_reading(drafter))})
        for sweep in range(GOES):
            for kind in kinds:
                if time.perf_counter() > deadline + min(self._building, BUILDING * seconds):
                    return
                if not self.plain:
                    self._time_plain(warm=False)
                    if not self.plain:
                        return
                    yield 1, count
                    begun, building = time.perf_counter(), self._building
                    for drafter in reading:
                        self._time_reading(drafter)
                        yield 1 + len(self.times), count
                    deadline, self._building = deadline + time.perf_counter() - begun, building
                self._time_in_turn(kind, warm=sweep > 0)
                yield 1 + len(self.times), count

    def finish(self) -> Costs:
        """Give the costs to the engine's controller."""
        costs, controller = self.costs(), self.engine.controller
        controller.costs = costs
        for name, seconds in self.reading.items():
            controller.reading[name] = max(0.0, seconds - costs.of(name, 1, self.near)) / self.near
        return costs

    def costs(self) -> Costs:
        """The costs that were timed, and those computed from them for other draft lengths."""
        if not self.plain:
            return Costs()
        near, far = self._rounds(self.near), self._rounds(self.far)
        grown, apart = dict[str, dict[int, float]](), self.far - self.near
        for name in near.keys() & far.keys() if apart else ():
            both = near[name].keys() & far[name].keys()
            grown[name] = {k: (far[name][k] - near[name][k]) / apart for k in both}
        flat = grown.get(self.free[0]) or {0: 0.0}
        known = dict[str, dict[int, RoundCost]]()
        for name, by in near.items():
            growth = {k: _on_line(grown.get(name) or flat, rows_of(name, k) - 1) for k in by}
            known[name] = {k: self._cost(seconds, growth[k]) for k, seconds in by.items()}
        plain, *_ = [known[name].pop(0) for name in self.free]
        return Costs(plain, {name: by for name, by in known.items() if by})

    def verifying(self, context: int) -> dict[int, float]:
        """Seconds of a target pass by rows, host work included; only what was timed."""
        timed = {**self._timed_at("none", context), **self._timed_at(Guess.name, context)}
        smoothed, longer = {}, float("inf")
        for k in sorted(timed, reverse=True):
            smoothed[k + 1] = min(timed[k], UNEVEN * longer)
            longer = min(longer, timed[k])
        return dict(sorted(smoothed.items()))

    def draft_step(self, name: str, context: int) -> float | None:
        """Seconds of one more drafted token; None where too little was timed."""
        drafting = self._drafting(name, context)
        return drafting[1] if drafting else None

    def kinds(self) -> list[Kind]:
        """What a sweep times beside plain rounds at the near context, in this order."""
        kinds: list[Kind] = []
        for lengths in (FIRST, REST):
            for context in self.contexts:
                fitting = [k for k in lengths if self._fits(k, context)]
                if context != self.near and lengths is FIRST:
                    kinds.append(Kind("none", 0, context))
                kinds += [Kind(Guess.name, k, context) for k in fitting]
                drafted = [k for k in DRAFTED if k in fitting and lengths is FIRST]
                kinds += [Kind(name, k, context) for name, k in product(self.timed_drafters, drafted)]
            if lengths is FIRST:
                trees = (Kind(name, k, self.near) for name, k in product(self.trees, DEPTHS))
                kinds += [tree for tree in trees if self._fits(rows_of(tree.drafter, tree.k), self.near)]
        return kinds

    def _fits(self, k: int, context: int) -> bool:
        return context + 6 * (k + 1) < self.engine.context_limit

    def _time_in_turn(self, kind: Kind, warm: bool) -> None:
        """Time rounds of a kind between plain ones, again if the machine has changed its speed meanwhile."""
        times, pace = list[float](), 1.0
        for _ in range(TRIES):
            before, times = self.plain[-1], self._timed(kind, warm)
            self._time_plain(warm=True)
            after = self.plain[-1]
            pace = (before + after) / 2
            if max(before, after) < UNEVEN * min(before, after):
                break
        self.times.setdefault(kind, []).extend(taken / pace for taken in times)

    def _time_plain(self, warm: bool) -> None:
        self.plain += sorted(self._timed(Kind("none", 0, self.near), warm))[:1]

    def _time_reading(self, drafter: Drafter) -> None:
        """Time how long it reads a text, and rounds with one and with `LONG` drafted tokens: on a slow
        machine no other of its rounds are timed. The shortest of three readings counts: kernels are built in
        the first, other programs delay some, and after too long a time it would never draft."""
        options = Options(drafter=drafter.name, draft_length=1, max_tokens=10)
        for _ in range(3):
            try:
                rounds = self.engine.generate(self._text(self.near, unread=drafter.name), options)
                late = next((read.seconds for read in rounds if read.drafted), None)
            finally:
                self.engine.forget()  # the text was not really read
            if late is not None:
                self.reading[drafter.name] = min(late, self.reading.get(drafter.name, late))
        for kind in self._beside_reading(drafter):
            self._time_in_turn(kind, warm=False)

    def _beside_reading(self, drafter: Drafter) -> list[Kind]:
        return [Kind(drafter.name, k, self.near) for k in (1, LONG) if self._fits(k, self.near)]

    def _timed(self, kind: Kind, warm: bool) -> list[float]:
        """Seconds of a few rounds. The first ever of a kind is left out: it builds a graph, or kernels."""
        left_out = not (warm or self.engine.target.compiles)  # compiled, that round is not steady anyway
        tokens = (kind.k + 1) * (TIMED_ROUNDS + left_out + 3)
        options = Options(drafter=kind.drafter.partition(TREES)[0], max_tokens=tokens)
        drafters, controller = self.engine.drafters, self.engine.controller
        begun, times = time.perf_counter(), list[float]()
        try:
            self.engine.drafters = [Guess(), *drafters]
            self.engine.controller = OneKind(kind)  # type: ignore[assignment]
            rounds = self.engine.generate(self._text(kind.context), options)
            # A tree is no deeper than there are heads.
            fitting = takewhile(lambda read: read.draft_length in (0, kind.k), rounds)
            steady = (read.seconds for read in fitting if read.steady and read.draft_length == kind.k)
            times += islice(steady, left_out, left_out + TIMED_ROUNDS)
            return times
        finally:
            usual = (TIMED_ROUNDS + left_out + 3) * max(times, default=0.0)
            self._building += max(0.0, time.perf_counter() - begun - usual)
            self.engine.drafters, self.engine.controller = drafters, controller
            self.engine.forget()

    def _text(self, length: int, unread: DrafterName = "") -> list[int]:
        """A made-up text that all models take as read, except those of the drafter `unread`."""
        text = [1] * length
        self.engine.pretend_cached(text, unread)
        return text

    def _timed_at(self, drafter: str, context: int) -> dict[int, float]:
        """Seconds by draft length, as timed."""
        if not self.plain:
            return {}
        plain = median_low(self.plain)
        timed = {
            kind.k: median_low(times) * plain
            for kind, times in self.times.items()
            if times and (kind.drafter, kind.context) == (drafter, context)
        }
        return {0: plain, **timed} if (drafter, context) == ("none", self.near) else timed

    def _drafting(self, name: str, context: int) -> tuple[float, float] | None:
        """(seconds once, seconds per drafted token) that drafting adds to the target pass.

        A fitted line, never falling; through zero if only one length was timed. None where none was.
        """
        passes = {rows - 1: seconds for rows, seconds in self.verifying(context).items()}
        extra = {k: seconds - _on_line(passes, k) for k, seconds in self._timed_at(name, context).items()}
        if len(extra) < 2:
            return next(((0.0, max(0.0, more / k)) for k, more in extra.items()), None)
        step, once = np.polyfit(list(extra), list(extra.values()), 1)
        return max(0.0, float(once)), max(0.0, float(step))

    def _rounds(self, context: int) -> dict[str, dict[int, float]]:
        """Seconds by drafter and draft length, a plain round as one of length 0 of each free drafter.

        Those of draft models are interpolated.
        """
        passes = {rows - 1: seconds for rows, seconds in self.verifying(context).items()}
        rounds = dict.fromkeys(self.free, passes)
        for name in self.timed_drafters if passes else ():
            if drafting := self._drafting(name, context):
                once, step = drafting
                reach = range(1, min(max(passes), max(DRAFTED)) + 1)
                rounds[name] = {k: _on_line(passes, k) + once + step * k for k in reach}
        return rounds | {name: timed for name in self.trees if (timed := self._timed_at(name, context))}

    def _cost(self, seconds: float, growth: float) -> RoundCost:
        """A line through the near measurement; at an empty context it is at least half of that."""
        growth = min(max(growth, 0.0), seconds / 2 / self.near)
        return RoundCost(seconds - growth * self.near, growth)


def _on_line(points: Mapping[int, float], k: int) -> float:
    """The value at k, interpolated; beyond the ends, that of the end."""
    known = sorted(points)
    return float(np.interp(k, known, [points[j] for j in known]))
