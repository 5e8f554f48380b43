"""What a controller has learned, as plain values: to be saved, and to go on from.

All raise ValueError for values that make no sense.
"""

from dataclasses import dataclass
from math import isfinite

NANO, DAY = 1e-9, 86_400.0
"""Seconds that no round falls below or takes: computing with the smallest and largest numbers fails."""
CostValues = tuple[float, float, int]
"""Seconds at an empty context, seconds per token in it, and the weight in readings, as in `RoundCost`."""


@dataclass(frozen=True, slots=True)
class LearnedCosts:
    """Costs of rounds, as in `Costs`."""

    plain: CostValues | None
    rounds: dict[str, dict[int, CostValues]]

    def __post_init__(self) -> None:
        drafted = [(k, cost) for by in self.rounds.values() for k, cost in by.items()]
        if not all(k > 0 and _are_sound(cost) for k, cost in drafted):
            raise ValueError("a draft has a token at least, and takes some time")
        if self.plain and not _are_sound(self.plain):
            raise ValueError("a plain round takes some time")


@dataclass(frozen=True, slots=True)
class LearnedAcceptance:
    """Weights over the acceptance rates: of a usual answer, and of the last one."""

    usual: list[float]
    now: list[float]

    def __post_init__(self) -> None:
        for weights in (self.usual, self.now):
            if not min(weights, default=0) > 0 or not abs(sum(weights) - 1) < 1e-6:
                raise ValueError("weights are positive and add up to 1")


@dataclass(frozen=True, slots=True)
class Learned:
    """All that a controller has learned."""

    costs: LearnedCosts
    acceptance: dict[str, LearnedAcceptance]
    """By candidate kind."""
    reading: dict[str, float]
    """By drafter: seconds to read a token that it missed."""
    budgets: tuple[float, float]
    """Plain rounds that a single text may lose, and a batch."""
    together: dict[int, LearnedCosts]
    """By batch size."""
    lengths: list[int]
    """Tokens of the last answers."""

    def __post_init__(self) -> None:
        if not all(0 <= seconds < DAY for seconds in self.reading.values()):
            raise ValueError("reading takes no less than no time")
        if not all(map(isfinite, self.budgets)):
            raise ValueError("budgets are finite")


def _are_sound(cost: CostValues) -> bool:
    seconds, growth, seen = cost
    return NANO < seconds < DAY and 0 <= growth < DAY and seen >= 0
