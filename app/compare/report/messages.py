"""What the process that measures a pair tells the one that asked it to."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Step:
    """What is being done, for the progress line."""

    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the result as JSON; a later one of the same name replaces it."""

    name: str
    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """The pair could not be measured (further), in words."""

    why: str


@dataclass(frozen=True, slots=True)
class Done:
    """Every part was sent."""


Message = Step | Part | Failed | Done
