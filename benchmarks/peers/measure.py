"""Measures every side on every prompt, prompt by prompt, in a new order of sides each time."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from benchmarks.peers.answering import Answer, Ask
from benchmarks.peers.records import Record, Records
from benchmarks.peers.sides import Side


class Process(Protocol):
    """The interface of `SideProcess`."""

    def call(self, method: str, *arguments: Any) -> Any: ...


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prompt as token ids."""

    id: str
    category: str
    ids: tuple[int, ...]
    stop_tokens: tuple[int, ...]


class Measurement:
    """Measures sides in their processes on prompts, and adds records."""

    def __init__(
        self,
        processes: Mapping[str, Process],
        prompts: Sequence[Encoded],
        max_tokens: int,
        records: Records,
        show: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.processes = processes
        self.prompts = prompts
        self.max_tokens = max_tokens
        self.records = records
        self.show = show

    def warm_up(self, sides: Sequence[Side]) -> None:
        """One answer of every side, not recorded."""
        for side in sides:
            self._ask(side, self.prompts[0], 0.0, 0)

    def run(
        self, phase: str, sides: Callable[[str, float], Sequence[Side]], temperatures: Sequence[float],
        repeats: int,
    ) -> None:  # fmt: skip
        """Measure `sides(category, temperature)` on every prompt, `repeats` times."""
        for repeat in range(repeats):
            for temperature in temperatures:
                self.show(f"{phase}, repeat {repeat + 1} of {repeats}, temperature {temperature:g}")
                for prompt in self.prompts:
                    wanted = list(sides(prompt.category, temperature))
                    random.Random(f"{repeat} {temperature} {prompt.id}").shuffle(wanted)
                    for side in wanted:
                        self._measure(phase, repeat, temperature, prompt, side)

    def _measure(self, phase: str, repeat: int, temperature: float, prompt: Encoded, side: Side) -> None:
        if (phase, repeat, temperature, prompt.id, side.name) in self.records:
            return
        answer = self._ask(side, prompt, temperature, repeat)
        self.records.add(
            Record(
                phase=phase,
                repeat=repeat,
                temperature=temperature,
                prompt=prompt.id,
                category=prompt.category,
                side=side.name,
                way=side.way,
                length=side.length,
                answer=answer,
            )
        )

    def _ask(self, side: Side, prompt: Encoded, temperature: float, seed: int) -> Answer:
        return self.processes[side.process].call("answer", self.asked(side, prompt, temperature, seed))

    def asked(self, side: Side, prompt: Encoded, temperature: float, seed: int) -> Ask:
        """The request to a side. The seed is the repeat: repeats differ, runs are the same."""
        return Ask(prompt.ids, prompt.stop_tokens, self.max_tokens, temperature, seed, side.way, side.length)
