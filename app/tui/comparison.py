"""Two answers to one prompt, without and with drafting, and what their difference means."""

from dataclasses import dataclass

from app.events import TurnEnded
from mlx_spec.types import Options

GAIN = 1.05
"""A ratio between 1 / GAIN and GAIN is within the noise of a single run."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both runs of one prompt."""

    plain: TurnEnded
    drafted: TurnEnded
    options: Options

    @property
    def ratio(self) -> float | None:
        """Drafted over plain tokens per second while decoding; None if a run is too short to tell."""
        rates = (self.plain.stats.tokens_per_second, self.drafted.stats.tokens_per_second)
        return rates[1] / rates[0] if min(rates) > 0 else None

    @property
    def identical(self) -> bool:
        return self.plain.token_ids == self.drafted.token_ids

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
        rates = (self.plain.stats.tokens_per_second, self.drafted.stats.tokens_per_second)
        return f"{rates[0]:.0f} tok/s without, {rates[1]:.0f} with: {self.speed()}; {self.sameness()}."


def _first_difference(left: tuple[int, ...], right: tuple[int, ...]) -> int:
    for position, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return position
    return min(len(left), len(right))
