"""Compares runs: ratios with their spread, and a verdict in words."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import geometric_mean, median
from typing import Any

from app.compare.plan import Setting
from app.compare.prompts import BenchPrompt
from app.engine.difference import Difference
from mlx_spec.stats import Stats

NOTICEABLE = 0.02
"""Gains and losses up to this share count as none."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One prompt's runs with a drafting setting, and as many plain runs."""

    prompt: BenchPrompt
    setting: Setting
    plain: tuple[Stats, ...]
    drafted: tuple[Stats, ...]
    difference: Difference | None
    """Where a drafted run first differs from the plain run of the same repeat; None if none does."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Plain against drafted decoding, over one or more prompts.

    Speeds and ratios of several prompts are geometric means, so that `ratio` is
    `drafted_tps / plain_tps` and no prompt counts more than another.
    """

    prompts: int
    repeats: int
    plain_tps: float
    """Tokens per second while decoding, the median of the repeats. Prompts whose answers have one token only
    are left out, as there is nothing to time; 0 if none is left."""
    drafted_tps: float
    ratio: float
    ratio_spread: tuple[float, float]
    """Smallest and largest ratio, among those of the single repeats and `ratio`."""
    accepted_per_round: float
    acceptance_rate: float
    plain_time_to_first_token: float
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
        """Drafting was faster in every repeat, and accepted tokens explain a noticeable gain: it is at most
        their number per round."""
        return min(self.ratio - 1, self.accepted_per_round) > NOTICEABLE and self.ratio_spread[0] > 1

    @property
    def spread(self) -> str:
        low, high = self.ratio_spread
        return f"{low:.2f} to {high:.2f} over {self.repeats} repeats" if self.repeats > 1 else "one run each"

    @property
    def ratio_cell(self) -> str:
        """The ratio in a table; none where no speed was measured."""
        return f"{self.ratio:.2f}x" if self.plain_tps else "-"

    @property
    def spread_cell(self) -> str:
        """The spread in a table; one run has none."""
        low, high = self.ratio_spread
        return f"{low:.2f}-{high:.2f}" if self.plain_tps and self.repeats > 1 else "-"

    @property
    def verdict(self) -> str:
        text = f"{self.ratio:.2f} times as fast"
        if not self.plain_tps:
            return "no speed was measured: no answer has a second token"
        if self.won:
            text = f"drafting is {text}"
        elif self.lost:
            text = f"drafting is slower, {text}"
        elif self.ratio <= 1 + NOTICEABLE:
            text = f"no gain, {text}"
        elif not self.accepted_per_round:
            text = f"no gain, {text}, but no drafted token was accepted"
        elif self.accepted_per_round <= NOTICEABLE:
            text = f"no gain, {text}, but next to nothing was drafted and accepted"
        else:
            text = f"no sure gain, {text}"
        return f"{text} ({self.spread})"

    def as_json(self) -> dict[str, Any]:
        """Its fields; no ratio where no speed was measured."""
        ratios = {} if self.plain_tps else {"ratio": None, "ratio_spread": None}
        return {**asdict(self), **ratios, "verdict": self.verdict}


def compare(measured: Sequence[Measured]) -> Comparison:
    """Combine the measurements of one or more prompts, all with equally many repeats."""
    plain_runs = [stats for m in measured for stats in m.plain]
    runs = [stats for m in measured for stats in m.drafted]
    repeats = len(measured[0].plain)
    timed = [m for m in measured if all(s.tokens_per_second for s in (*m.plain, *m.drafted))]
    speeds = mean_speed([m.plain for m in timed]), mean_speed([m.drafted for m in timed])
    ratios = [speeds[1] / speeds[0] if timed else 1.0] + [
        geometric_mean([m.drafted[i].tokens_per_second / m.plain[i].tokens_per_second for m in timed])
        for i in range(repeats if timed else 0)
    ]
    accepted = sum(s.draft_n_accepted for s in runs)
    return Comparison(
        prompts=len(measured),
        repeats=repeats,
        plain_tps=speeds[0],
        drafted_tps=speeds[1],
        ratio=ratios[0],
        ratio_spread=(min(ratios), max(ratios)),
        accepted_per_round=accepted / (sum(s.rounds for s in runs) or 1),
        acceptance_rate=accepted / (sum(s.draft_n for s in runs) or 1),
        plain_time_to_first_token=median(s.time_to_first_token for s in plain_runs),
        drafted_time_to_first_token=median(s.time_to_first_token for s in runs),
        peak_memory_bytes=max(s.peak_memory_bytes for s in (*plain_runs, *runs)),
        same_text=sum(m.difference is None for m in measured),
    )


def by_category(measured: Sequence[Measured]) -> dict[str, Comparison]:
    categories = dict.fromkeys(m.prompt.category for m in measured)
    return {c: compare([m for m in measured if m.prompt.category == c]) for c in categories}


def mean_speed(prompts: Sequence[Sequence[Stats]]) -> float:
    """Tokens per second: the median of a prompt's repeats, the geometric mean of the prompts."""
    rates = [[stats.tokens_per_second for stats in runs] for runs in prompts]
    found = [median(each) for each in rates if all(each)]
    return geometric_mean(found) if found else 0.0
