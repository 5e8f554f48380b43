"""The interface of all trainings: estimate, progress and result."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.time_text import time_text


@dataclass(frozen=True, slots=True)
class TrainRequest:
    """The user's settings; None: the default."""

    tokens: int | None = None
    """Of training text."""
    texts: tuple[str, ...] = ()
    """Folders and files of texts, used before the target writes its own."""
    hours: float | None = None
    bits: int | None = None
    layers: int | None = None
    width: int | None = None
    base: str | None = None
    """The head or small model to start from."""


@dataclass(frozen=True, slots=True)
class Step:
    """The progress of a training."""

    doing: str
    done: int
    total: int
    unit: str
    seconds_left: float
    found: str = ""
    """The result so far as a sentence; empty unless it was just measured."""

    def __str__(self) -> str:
        left = f"about {time_text(self.seconds_left)} left"
        share = f"{self.doing}: {self.done:,} of {self.total:,} {self.unit}, {left}"
        return f"{share}. {self.found}" if self.found else share


Report = Callable[[Step], None]
"""May raise an exception to stop the training, which keeps its work so far."""


class Pace:
    """The time left, from the mean rate since its creation."""

    def __init__(self, done: int):
        self._first, self._at = done, time.monotonic()

    def left(self, done: int, total: int) -> float:
        """Seconds."""
        return (time.monotonic() - self._at) / max(1, done - self._first) * max(0, total - done)

    def reached(self, done: int, total: int, seconds: float) -> int:
        """The tokens that will be done after `seconds` more, at most `total`."""
        more = (done - self._first) / (time.monotonic() - self._at) * max(0.0, seconds)
        return int(min(total, done + more))


class Work(ABC):
    """The training of one drafter for one target."""

    notes: Sequence[str] = ()
    """On what it will not learn from."""

    @abstractmethod
    def estimate(self) -> str:
        """The time and disk space it would take, as lines for the user."""

    @abstractmethod
    def run(self, report: Report) -> None: ...

    @abstractmethod
    def stopped(self) -> str:
        """Called after a stop of `run`: a message on what was kept, and what to do next."""

    @abstractmethod
    def finish(self, about: Mapping[str, Any]) -> tuple[bool, str]:
        """After `run`: save the drafter where every command finds it.

        Args:
            about: further notes for its config.json.

        Returns:
            Whether a drafter was saved, and lines for the user.
        """


def accepted_text(acceptance: Sequence[float], unit: str) -> str:
    """A sentence with the acceptance by depth; empty if it was not measured."""
    shares = ", ".join(f"{each:.0%}" for each in acceptance)
    tokens = f" ({1 + sum(acceptance):.2f} tokens per pass of the target)" if unit == "tokens" else ""
    found = f"Of drafts on texts it has not seen, the first 1, 2, ... {unit} are accepted: {shares}{tokens}."
    return found if shares else ""


def seconds(work: Callable[[], object]) -> float:
    """The time of a call's second run."""
    work()
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
