"""Apple's chips as they matter for decoding speed: reads chips.toml, finds a chip by name."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from models.errors import BadChoice
from models.files import shipped_table

_NAMED = re.compile(r"(?:apple\s+)?(m\d+(?:\s+(?:pro|max|ultra))?)(?:\D+(\d+)\D*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Chip:
    """An entry of chips.toml, which describes the fields; bandwidth in GB/s."""

    name: str
    generation: int
    gpu_cores: Sequence[int]
    bandwidth: float


@cache
def all_chips() -> tuple[Chip, ...]:
    return tuple(Chip(**table) for table in shipped_table(__file__, "chips.toml")["chip"])


def find_chip(text: str, gpu_cores: int | None = None) -> Chip:
    """The chip of a name: `M4 Pro`, `Apple M4 Max`, `M4 Max 32` or `M4 Max, 32 GPU cores`.

    Of several with this name, the one with the larger bandwidth if the number of cores is not given.

    Raises:
        BadChoice: no such chip, or not with that number of cores; the message lists the known ones.
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
