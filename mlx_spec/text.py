"""One text being written, as far as the host has read it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import mlx.core as mx

from mlx_spec.stats import Stats, summarise
from mlx_spec.target.model import Progress
from mlx_spec.types import Options, Round, StopReason
from mlx_spec.verify.likeliness import read_likeliness
from mlx_spec.verify.verifiers import Verifier


@dataclass(slots=True)
class Text:
    """The text, where it must end, and the rounds that wrote it."""

    tokens: list[int]
    """Prompt and answer."""
    options: Options
    limit: int
    """The most tokens of prompt and answer together."""
    verifier: Verifier
    documents: list[list[int]] = field(default_factory=list)
    """Other texts that it may copy from."""
    likeliest: int | None = None
    """Likeliest tokens to report beside each token; None: no log probabilities at all."""
    progress: Progress | None = None
    """Called after each piece of the prompt that was read."""
    streamed: bool = True
    """Whether somebody reads along. Prompts beside it are read in pieces then, so that no round is late."""
    number: int = field(default_factory=count().__next__)
    """Unique among all texts."""
    rounds: list[Round] = field(default_factory=list)
    ended: bool = False
    """Whether its last round was read, or it was cancelled."""
    asked: float = field(default_factory=time.perf_counter)
    begun: float | None = None
    """When it was added, or last had no place, and when its prompt was read, by `time.perf_counter`."""
    first_read: int = 0
    """Prompt tokens that are read before its first round."""
    cached_tokens: int = 0
    """Prompt tokens that were not read again."""
    prompt_length: int = field(init=False)

    def __post_init__(self) -> None:
        self.prompt_length = len(self.tokens)

    def stats(self, rounds: Sequence[Round]) -> Stats:
        """The statistics of the text, from the rounds that its reader took."""
        return summarise(
            rounds,
            prompt_tokens=self.prompt_length,
            cached_tokens=self.cached_tokens,
            prefill_seconds=self.begun - self.asked if self.begun else 0.0,
            peak_memory_bytes=mx.get_peak_memory(),
        )

    def extend(self, whole: Round, likeliness: Sequence[Sequence[float]]) -> Round:
        """Append a round that was read, and return it, up to the first stop.

        Args:
            likeliness: of each token, from `verify.likeliness`; not used unless `likeliest` is set.
        """
        taken, stop = self._cut(whole.tokens)
        self.ended, read = stop is not None, whole
        if not self.rounds and self.begun:
            read = replace(read, seconds=min(read.seconds, time.perf_counter() - self.begun))
        if stop:
            read = read.cut(taken, stop)
        if self.likeliest is not None:
            each = (read_likeliness(numbers, self.likeliest) for numbers in likeliness[:taken])
            read = replace(read, likeliness=tuple(each))
        self.tokens += read.tokens
        self.rounds.append(read)
        return read

    def _cut(self, gained: Sequence[int]) -> tuple[int, StopReason | None]:
        for taken, token in enumerate(gained, 1):
            if token in self.options.stop_tokens:
                return taken, "stop"
            if len(self.tokens) + taken >= self.limit:
                return taken, "length"
        return len(gained), None


Read = list[tuple[Text, Round]]
"""Texts that were written, each with its round."""
