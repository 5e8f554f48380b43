"""This machine's memory, free disk and chip. Imports no MLX, so any process may use it."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from models.errors import BadChoice
from models.paths import hub_cache
from models.speed.chips import Chip, find_chip

_ASK_METAL = "import mlx.core as mx; print(mx.device_info()['max_recommended_working_set_size'])"
_METAL_SHARE = 2 / 3


@dataclass(frozen=True, slots=True)
class Machine:
    memory_bytes: int
    """Metal's recommended working set, or physical memory without Metal."""
    disk_bytes: int
    """Free on the disk of the Hub's cache."""
    has_metal: bool
    """Without Metal weights are loaded as float32."""


def this_machine() -> Machine:
    """Memory is read once and cached; free disk is read every time."""
    memory, has_metal = _memory()
    return Machine(memory, free_disk(hub_cache()), has_metal)


def free_disk(folder: Path) -> int:
    """Free bytes on the disk of the folder, which may not exist: its nearest visible parent decides."""
    existing = next(place for place in (folder, *folder.parents) if os.path.isdir(place))
    return shutil.disk_usage(existing).free


def physical_memory() -> int:
    """Total bytes, in use or not."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@cache
def chip_name() -> str | None:
    """The Mac's processor name, `Apple M4 Pro`; None on other machines."""
    if sys.platform != "darwin":
        return None
    return output_of("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string").strip() or None


@cache
def this_chip() -> Chip | None:
    """This Mac's entry in chips.toml; None on other machines and for unknown chips."""
    name = chip_name()
    if name is None:
        return None
    registry = output_of("/usr/sbin/ioreg", "-rc", "AGXAccelerator", "-d1")
    cores = re.search(r'"gpu-core-count" = (\d+)', registry)
    try:
        return find_chip(name, gpu_cores=int(cores[1]) if cores else None)
    except BadChoice:
        return None


def output_of(*command: str, seconds: float = 5) -> str:
    """A program's output; empty if it cannot be run or takes too long."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


@cache
def _memory() -> tuple[int, bool]:
    if sys.platform != "darwin":
        return physical_memory(), False
    answer = output_of(sys.executable, "-P", "-c", _ASK_METAL, seconds=60).strip()
    return (int(answer) if answer.isdigit() else int(physical_memory() * _METAL_SHARE)), True
