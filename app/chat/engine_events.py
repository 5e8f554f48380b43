"""What the link to the engine tells those who listen: of the pair, and of what they asked for."""

from dataclasses import dataclass
from typing import Literal

from app.engine.difference import Difference
from app.engine.events import PairInfo, TurnEvent
from app.engine.protocol import Tuning, TuningEnded

EngineState = Literal["loading", "ready", "failed", "dead"]


@dataclass(frozen=True, slots=True)
class PairLoading:
    """The engine process began to open a pair."""


@dataclass(frozen=True, slots=True)
class PairLoaded:
    """The engine process has the pair in memory."""

    info: PairInfo


@dataclass(frozen=True, slots=True)
class PairTuning:
    """The engine measures what drafting costs with the pair, or has ended that."""

    event: Tuning | TuningEnded


@dataclass(frozen=True, slots=True)
class PairFailed:
    """The pair could not be opened."""

    text: str


@dataclass(frozen=True, slots=True)
class EngineDied:
    """The engine process ended without being asked to."""

    text: str
    while_answering: bool
    """Each answer in progress has a `TurnFailed` that says the same."""


@dataclass(frozen=True, slots=True)
class TurnAdvanced:
    """One event of an answer."""

    turn_id: int
    event: TurnEvent


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """A request ended without a result."""

    turn_id: int
    text: str
    reason: str
    """The text without what comes next."""


@dataclass(frozen=True, slots=True)
class DifferenceFound:
    """Where two answers part."""

    turn_id: int
    difference: Difference | None


PairEvent = PairLoading | PairLoaded | PairTuning | PairFailed | EngineDied
RequestEvent = TurnAdvanced | TurnFailed | DifferenceFound
