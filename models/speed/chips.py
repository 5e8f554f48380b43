"""Apple's chips as far as decoding speed goes: reads chips.toml, finds a chip by the name people use."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from models.errors import BadChoice

_NAMED = re.compile(r"(?:apple\s+)?(m\d+(?:\s+(?:pro|max|ultra))?)(?:\D+(\d+)\D*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chip:
    """One line of chips.toml."""

    name: str
    """Without the maker: `M4 Pro`."""
    generation: int
    """Of the GPU's architecture (applegpu_g16s: 16); it chooses MLX's kernels."""
    gpu_cores: tuple[int, ...]
    """The numbers it is sold with at this bandwidth."""
    bandwidth: float
    """Of memory, in GB/s."""


@cache
def all_chips() -> tuple[Chip, ...]:
    """Every chip, in the file's order."""
    tables = tomllib.loads(Path(__file__).with_name("chips.toml").read_text())["chip"]
    return tuple(Chip(**{**table, "gpu_cores": tuple(table["gpu_cores"])}) for table in tables)


def find_chip(text: str, gpu_cores: int | None = None) -> Chip:
    """The chip of a name: `M4 Pro`, `Apple M4 Max`, `M4 Max 32` or `M4 Max, 32 GPU cores`.

    Where the name stands for two bandwidths and the number of cores is not known, the larger is taken.

    Raises:
        BadChoice: no such chip, or not with that number of cores; the message says what there is.
    """
    read = _NAMED.fullmatch(text.strip())
    name = " ".join(read[1].split()) if read else ""
    if read and read[2]:
        gpu_cores = int(read[2])
    named = [chip for chip in all_chips() if chip.name.lower() == name.lower()]
    if not named:
        known = ", ".join(dict.fromkeys(chip.name for chip in all_chips()))
        raise BadChoice(f"There is no chip '{text}' in our table. Known: {known}.")
    fitting = [chip for chip in named if gpu_cores is None or gpu_cores in chip.gpu_cores]
    if not fitting:
        sold = " or ".join(str(count) for chip in named for count in chip.gpu_cores)
        raise BadChoice(f"We know the {named[0].name} with {sold} GPU cores, not with {gpu_cores}.")
    return max(fitting, key=lambda chip: chip.bandwidth)
