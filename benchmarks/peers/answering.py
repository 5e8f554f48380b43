"""What crosses the pipe to a side's process and back: plain values only."""

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Ask:
    """A prompt and how to answer it."""

    ids: tuple[int, ...]
    stop_tokens: tuple[int, ...]
    max_tokens: int
    temperature: float
    seed: int
    way: str
    """What the side's program calls its loop: `auto`, `model`, `plain`, `speculative`, `assistant`, ..."""
    length: int | None = None
    """Tokens drafted per round; None leaves it to the program."""
    keep: bool = False
    """Go on from what the process has read already, where it can."""


class Played(NamedTuple):
    """One round; four values on a line of a file."""

    drafter: str
    draft_length: int
    accepted: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it."""

    tokens: tuple[int, ...]
    """A stop token included."""
    seconds: float
    """From the request to the last token, prefill included."""
    first_seconds: float
    """To the first tokens."""
    first_tokens: int
    """How many those were."""
    passes: int
    """Passes of the target after the prompt was read."""
    drafted: int = 0
    accepted: int = 0
    processor_seconds: float = 0.0
    """Of all threads after the first tokens: what other programs take does not count."""
    rounds: tuple[Played, ...] = ()
    """Where the side tells them."""
