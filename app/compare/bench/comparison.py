"""What the measurements say: ratios with their spread, and a verdict in words. Pure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import geometric_mean, median
from typing import Any

from app.compare.bench.measured import Measured
from mlx_spec.stats import Stats

NOTICEABLE = 0.02
"""Gains and losses below this share are called none."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Plain against drafted decoding, over one or more prompts.

    Speeds and ratios of several prompts are geometric means, so that `ratio` is
    `drafted_tps / plain_tps` and no prompt counts more than another.
    """

    prompts: int
    plain_tps: float
    """Tokens per second while decoding, the median of the repeats."""
    drafted_tps: float
    ratio: float
    ratio_spread: tuple[float, float]
    """Smallest and largest ratio over the repeats, each repeat taken by itself; `ratio` lies within."""
    accepted_per_round: float
    acceptance_rate: float
    """Accepted / drafted."""
    plain_time_to_first_token: float
    """Seconds, the median."""
    drafted_time_to_first_token: float
    peak_memory_bytes: int
    same_text: int
    """Prompts whose two answers were the same in every repeat."""

    @property
    def lost(self) -> bool:
        """Drafting was slower in every repeat."""
        return self.ratio_spread[1] < 1 and self.ratio < 1 - NOTICEABLE

    @property
    def won(self) -> bool:
        """Drafting was faster in every repeat, and it was drafting that made it so."""
        return self.ratio_spread[0] > 1 and self.ratio > 1 + NOTICEABLE and self.accepted_per_round > 0

    @property
    def verdict(self) -> str:
        """In words."""
        if self.won:
            return f"drafting pays: {self.ratio:.2f}x"
        if self.lost:
            return f"drafting does not pay here: {self.ratio:.2f}x"
        if abs(self.ratio - 1) <= NOTICEABLE:
            return f"no gain: {self.ratio:.2f}x"
        if not self.accepted_per_round:
            return f"no gain: {self.ratio:.2f}x, but no drafted token was accepted"
        low, high = self.ratio_spread
        return f"no sure gain: {self.ratio:.2f}x, from {low:.2f}x to {high:.2f}x over the repeats"

    def as_json(self) -> dict[str, Any]:
        """The fields, and the verdict."""
        return {**asdict(self), "ratio_spread": list(self.ratio_spread), "verdict": self.verdict}


def compare(measured: Sequence[Measured]) -> Comparison:
    """Fold the measurements of one or more prompts."""
    plain = geometric_mean([_speed(m.plain) for m in measured])
    drafted = geometric_mean([_speed(m.drafted) for m in measured])
    ratios = [drafted / plain] + [
        geometric_mean([_tps(m.drafted[r]) / _tps(m.plain[r]) for m in measured])
        for r in range(len(measured[0].plain))
    ]
    runs = [stats for m in measured for stats in m.drafted]
    return Comparison(
        prompts=len(measured),
        plain_tps=plain,
        drafted_tps=drafted,
        ratio=drafted / plain,
        ratio_spread=(min(ratios), max(ratios)),
        accepted_per_round=_share(sum(s.draft_n_accepted for s in runs), sum(s.rounds for s in runs)),
        acceptance_rate=_share(sum(s.draft_n_accepted for s in runs), sum(s.draft_n for s in runs)),
        plain_time_to_first_token=median([s.time_to_first_token for m in measured for s in m.plain]),
        drafted_time_to_first_token=median([s.time_to_first_token for s in runs]),
        peak_memory_bytes=max(s.peak_memory_bytes for m in measured for s in (*m.plain, *m.drafted)),
        same_text=sum(m.difference is None for m in measured),
    )


def by_category(measured: Sequence[Measured]) -> dict[str, Comparison]:
    """One comparison per category, in the order of the prompts."""
    categories = list(dict.fromkeys(m.prompt.category for m in measured))
    return {c: compare([m for m in measured if m.prompt.category == c]) for c in categories}


def _speed(runs: Sequence[Stats]) -> float:
    return median([_tps(stats) for stats in runs])


def _tps(stats: Stats) -> float:
    """Never 0, so that a ratio exists: an answer has at least one token."""
    return max(stats.tokens_per_second, 1e-9)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
