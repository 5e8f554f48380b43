"""What all work on a drafter has in common: it says what it takes, how far it is, and what came out."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TrainRequest:
    """What a person asks for; None: nothing said."""

    tokens: int | None = None
    """To learn from."""
    texts: tuple[str, ...] = ()
    """Folders and files to learn from first."""
    hours: float | None = None
    bits: int | None = None
    layers: int | None = None
    width: int | None = None
    base: str | None = None
    """What to begin from: a head, or a small model."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far work is."""

    doing: str
    done: int
    total: int
    unit: str
    seconds_left: float
    found: str = ""
    """What it is worth so far, in a sentence, where that was looked at."""

    def __str__(self) -> str:
        left = f"about {time_text(self.seconds_left)} left"
        share = f"{self.doing}: {self.done:,} of {self.total:,} {self.unit}, {left}"
        return f"{share}. {self.found}" if self.found else share


Report = Callable[[Step], None]
"""May raise to stop: what is done stays."""


class Pace:
    """How long the rest takes, at the pace since it was made."""

    def __init__(self, done: int):
        self._first, self._at = done, time.monotonic()

    def left(self, done: int, total: int) -> float:
        """Seconds."""
        return (time.monotonic() - self._at) / max(1, done - self._first) * max(0, total - done)

    def reached(self, done: int, total: int, seconds: float) -> int:
        """How many tokens are done after so many seconds more, of the total."""
        more = (done - self._first) / (time.monotonic() - self._at) * max(0.0, seconds)
        return int(min(total, done + more))


class Work(ABC):
    """On one drafter for one target."""

    @abstractmethod
    def estimate(self) -> str:
        """What it would take, as lines for a person; nothing is kept of it."""

    @abstractmethod
    def run(self, report: Report) -> None: ...

    @abstractmethod
    def stopped(self) -> str:
        """What a stop of `run` leaves, and what to do next."""

    @abstractmethod
    def finish(self, about: Mapping[str, Any]) -> tuple[bool, str]:
        """After `run`: put the drafter where every command finds it.

        Args:
            about: what else to note with it.

        Returns:
            Whether there is one, and lines for a person.
        """


def accepted_text(acceptance: Sequence[float], unit: str) -> str:
    """Empty where it was not looked at."""
    shares = ", ".join(f"{each:.0%}" for each in acceptance)
    tokens = f" ({1 + sum(acceptance):.2f} tokens per pass of the target)" if unit == "tokens" else ""
    found = f"Of drafts on texts it has not seen, the first 1, 2, ... {unit} are accepted: {shares}{tokens}."
    return found if shares else ""


def time_text(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def seconds(work: Callable[[], object]) -> float:
    """Of the second time."""
    work()
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
