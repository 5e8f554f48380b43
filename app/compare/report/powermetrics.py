"""Reads the text that macOS's `powermetrics` prints, one block per sample."""

import re
from dataclasses import dataclass

_HEADER = re.compile(r"^\*\*\* Sampled system activity \(.*\) \(([\d.]+)ms elapsed\) \*\*\*$", re.MULTILINE)
_POWER = re.compile(r"^(CPU|GPU|ANE) Power: (\d+(?:\.\d+)?) mW$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PowerSample:
    """Mean power over one interval."""

    seconds: float
    watts: dict[str, float]
    """By part of the chip: `CPU`, `GPU`, `ANE`, as far as they were sampled."""

    @property
    def joules(self) -> float:
        return self.seconds * sum(self.watts.values())


def parse(text: str) -> list[PowerSample]:
    """Every whole sample; what stands before the first or was cut off inside the last is left out."""
    _, *pieces = _HEADER.split(text)
    samples = []
    for elapsed, block in zip(pieces[::2], pieces[1::2], strict=True):
        # The GPU's power stands in two sections of a block, with the same value.
        watts = {part: float(number) / 1000 for part, number in _POWER.findall(block)}
        if watts:
            samples.append(PowerSample(float(elapsed) / 1000, watts))
    return samples
