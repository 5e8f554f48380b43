"""The messages between the benchmark and a side's process: plain values only."""

from collections.abc import Sequence
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
    """The side's decoding method: `auto`, `model`, `plain`, `speculative`, `assistant`, ..."""
    length: int | None = None
    """Draft length; None: the side's default."""
    keep: bool = False
    """Reuse the cache of earlier answers."""


class Played(NamedTuple):
    """One round; stored as a list of four values."""

    drafter: str
    draft_length: int
    accepted: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A side's answer to an `Ask`."""

    tokens: tuple[int, ...]
    """With the stop token."""
    seconds: float
    """From the request to the last token, prefill included."""
    first_seconds: float
    """From the request to the first round's tokens."""
    first_tokens: int
    """Number of the first round's tokens."""
    passes: int
    """Passes of the target after prefill."""
    drafted: int = 0
    accepted: int = 0
    processor_seconds: float = 0.0
    """Of all threads of the process, after the first tokens. Other programs' time does not count."""
    rounds: tuple[Played, ...] = ()
    """Empty unless the side reports them."""


def decoding_pace(answers: Sequence[Answer]) -> float:
    """Tokens per second after the first rounds'; 0 if there are none."""
    seconds = sum(answer.seconds - answer.first_seconds for answer in answers)
    tokens = sum(len(answer.tokens) - answer.first_tokens for answer in answers)
    return tokens / seconds if seconds > 0 else 0.0
