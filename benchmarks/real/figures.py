"""Gains over plain decoding, acceptance by depth and costs of rounds, from records. Pure functions."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul
from statistics import median, quantiles

from benchmarks.peers.answering import decoding_pace
from benchmarks.peers.ratios import Paces
from benchmarks.peers.records import Record
from mlx_spec.stats import acceptance_by_position

PLAIN = "plain"
"""Our own plain decoding, the baseline of all ratios."""


@dataclass(frozen=True, slots=True)
class Gain:
    """A side's decoding speed over our plain decoding's, on the same prompts."""

    side: str
    group: str
    temperature: float
    total: float
    """Ratio of all tokens over all time."""
    middle: float
    """Median of the ratios by prompt."""
    quartiles: tuple[float, float]
    with_reading: float
    """`total` with prefill included."""
    processor: float
    """`total` by processor time, which other programs disturb less; 0 if not measured."""
    tokens_per_pass: float


@dataclass(frozen=True, slots=True)
class Depth:
    """The predicted result of one draft length, used in every round that has a draft."""

    length: int
    tokens: float
    """Of a drafted round."""
    cost: float
    """Time of a drafted round, in plain rounds."""
    share: float
    """Share of rounds that have a draft."""

    @property
    def ratio(self) -> float:
        """Gain over plain decoding, rounds without a draft included."""
        plain = 1 - self.share
        return (self.share * self.tokens + plain) / (self.share * self.cost + plain)


class Figures:
    """All figures of one run's records."""

    def __init__(self, timed: Sequence[Record], counted: Sequence[Record] = ()) -> None:
        self.timed, self.counted = timed, counted
        self.paces = Paces(timed)
        self.sides = self.paces.sides
        self.temperatures = self.paces.temperatures
        self.counted_sides = sorted({record.side for record in counted})
        self.kinds = list(dict.fromkeys(record.category for record in timed))
        self.groups: dict[str, list[str]] = {**{kind: [kind] for kind in self.kinds}, "all": self.kinds}

    def gain(self, side: str, group: str, temperature: float) -> Gain | None:
        """None if the side was not measured, or every answer ends with its first token."""
        of = self.groups[group]
        whole = self.paces.ratio(side, PLAIN, group, of, temperature)
        speed = self.paces.speed(side, group, of, temperature)
        pairs = sorted(self._by_prompt(side, group, temperature))
        if whole is None or speed is None or not pairs:
            return None
        low, _, high = quantiles(pairs, n=4, method="inclusive") if len(pairs) > 1 else pairs * 3
        return Gain(
            side, group, temperature,
            total=whole.decode_ratio, middle=median(pairs), quartiles=(low, high), with_reading=whole.ratio,
            processor=self._by_processor(side, group, temperature),
            tokens_per_pass=speed.tokens_per_pass,
        )  # fmt: skip

    def rates(self, side: str, group: str = "all") -> tuple[float, ...]:
        """Acceptance by depth, given that all tokens before are accepted, of a side that always drafts."""
        return acceptance_by_position(
            [played for r in self.counted if r.side == side and r.category in self.groups[group]
             for played in r.answer.rounds]
        )  # fmt: skip

    def tokens_per_pass(self, side: str, group: str = "all") -> float:
        """Of a side that drafts every round; independent of time."""
        answers = [r.answer for r in self.counted if r.side == side and r.category in self.groups[group]]
        return sum(len(a.tokens) for a in answers) / max(1, sum(a.passes for a in answers))

    def costs(self, drafter: str) -> dict[int, float]:
        """Median time of rounds by this drafter's draft length, in plain rounds, over all records."""
        plain = [played.seconds for r in self.timed if r.side == PLAIN for played in r.answer.rounds[1:]]
        seconds: dict[int, list[float]] = defaultdict(list)
        for record in [*self.timed, *self.counted]:
            for played in record.answer.rounds[1:]:
                if played.drafter == drafter and played.draft_length:
                    seconds[played.draft_length].append(played.seconds)
        return {k: median(taken) / median(plain) for k, taken in sorted(seconds.items())}

    def best_depth(self, side: str, drafter: str) -> Depth | None:
        """The draft length with the highest predicted gain; None without records."""
        rates, costs = self.rates(side), self.costs(drafter)
        rounds = [played for r in self.counted if r.side == side for played in r.answer.rounds]
        share = sum(played.draft_length > 0 for played in rounds) / max(1, len(rounds))
        found = [
            Depth(k, 1 + sum(list(accumulate(rates[:k], mul))), cost, share)
            for k, cost in costs.items()
            if k <= len(rates)
        ]
        return max(found, key=lambda depth: depth.ratio, default=None)

    def drafters(self, side: str, group: str, temperature: float) -> dict[str, float]:
        """Share of rounds by drafter, largest first."""
        records = self.paces.records(side, temperature, self.groups[group])
        counts = Counter(played.drafter for r in records for played in r.answer.rounds)
        return {name: count / counts.total() for name, count in counts.most_common()}

    def different(self) -> list[Record]:
        """Answers that differ from our plain decoding's; mlx-lm's are compared at temperature 0 only."""
        plain = {(r.prompt, r.temperature): r.answer.tokens for r in self.timed if r.side == PLAIN}
        return [r for r in self._comparable() if r.answer.tokens != plain[r.prompt, r.temperature]]

    def same_texts(self) -> Mapping[str, tuple[int, int]]:
        """(equal to plain decoding's, compared) by side."""
        different = {record.key for record in self.different()}
        counts = {r.side: (0, 0) for r in self._comparable()}
        for record in self._comparable():
            same, of = counts[record.side]
            counts[record.side] = same + (record.key not in different), of + 1
        return counts

    def _comparable(self) -> list[Record]:
        return [
            r for r in [*self.timed, *self.counted]
            if r.side != PLAIN and (r.temperature == 0 or r.answer.rounds)
        ]  # fmt: skip

    def _by_processor(self, side: str, group: str, temperature: float) -> float:
        mine, plain = (
            [r.answer for r in self.paces.records(name, temperature, self.groups[group])]
            for name in (side, PLAIN)
        )
        per_token = [
            sum(a.processor_seconds for a in answers)
            / max(1, sum(len(a.tokens) - a.first_tokens for a in answers))
            for answers in (mine, plain)
        ]
        return per_token[1] / per_token[0] if per_token[0] else 0.0

    def _by_prompt(self, side: str, group: str, temperature: float) -> list[float]:
        mine, plain = (
            {
                r.prompt: decoding_pace([r.answer])
                for r in self.paces.records(name, temperature, self.groups[group])
            }
            for name in (side, PLAIN)
        )
        return [mine[prompt] / plain[prompt] for prompt in mine if mine[prompt] and plain.get(prompt)]
