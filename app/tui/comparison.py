"""Two answers to one prompt, without and with drafting, and what their difference means."""

from dataclasses import dataclass

from app.events import TurnEnded
from mlx_spec.types import Options

GAIN = 1.05
"""A ratio between 1 / GAIN and GAIN is within the noise of a few runs."""

SHORT_SECONDS = 1.0
"""A decoding time below this varies from run to run; such runs are repeated."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The runs of one prompt, without and with drafting; as many of each."""

    plain_runs: tuple[TurnEnded, ...]
    drafted_runs: tuple[TurnEnded, ...]
    options: Options

    @property
    def plain(self) -> TurnEnded:
        """The run of median speed without drafting."""
        return _median(self.plain_runs)

    @property
    def drafted(self) -> TurnEnded:
        """The run of median speed with drafting."""
        return _median(self.drafted_runs)

    @property
    def rates(self) -> tuple[float, float]:
        """Median tokens per second while decoding, without and with drafting."""
        return self.plain.stats.tokens_per_second, self.drafted.stats.tokens_per_second

    @property
    def ratio(self) -> float | None:
        """Drafted over plain tokens per second while decoding; None if a run is too short to tell."""
        return self.rates[1] / self.rates[0] if min(self.rates) > 0 else None

    @property
    def identical(self) -> bool:
        return len({run.token_ids for run in self.plain_runs + self.drafted_runs}) == 1

    @property
    def stopped(self) -> bool:
        return "cancelled" in (self.plain.finish_reason, self.drafted.finish_reason)

    def speed(self) -> str:
        """The verdict on speed, in words."""
        ratio = self.ratio
        if ratio is None:
            return "too short to tell"
        if ratio >= GAIN:
            return f"drafting is {ratio:.2f} times as fast"
        if ratio > 1 / GAIN:
            return f"no gain from drafting ({ratio:.2f} times)"
        return f"drafting is slower ({ratio:.2f} times)"

    def sameness(self) -> str:
        """Whether the texts agree, in words."""
        if self.identical:
            return "the texts are identical"
        if self.stopped:
            return "stopped, so the texts were not compared"
        if self.options.temperature > 0 and self.options.verify != "coupled":
            return (
                f"the texts differ, as they may: /verify {self.options.verify} draws its own random numbers"
            )
        position = _first_difference(self.plain.token_ids, self.drafted.token_ids)
        return f"the texts differ from token {position + 1} on; `mlx-spec check` says why"

    def summary(self) -> str:
        """One sentence for both."""
        plain, drafted = self.rates
        runs = len(self.plain_runs)
        basis = f" (median of {runs} runs each)" if runs > 1 else ""
        return f"{plain:.0f} tok/s without, {drafted:.0f} with{basis}: {self.speed()}; {self.sameness()}."


def _median(runs: tuple[TurnEnded, ...]) -> TurnEnded:
    return sorted(runs, key=lambda run: run.stats.tokens_per_second)[len(runs) // 2]


def _first_difference(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    for position, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return position
    return min(len(left), len(right))
