"""What this machine offers to models: memory and disk. Imports no MLX, so that any process may ask."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from models.paths import hub_cache

_ASK_METAL = "import mlx.core as mx; print(mx.device_info()['max_recommended_working_set_size'])"
_METAL_SHARE = 2 / 3


@dataclass(frozen=True, slots=True)
class Machine:
    """Room for models, in bytes."""

    memory_bytes: int
    """What models may use: Metal's recommended working set, or physical memory without Metal."""
    disk_bytes: int
    """Free on the disk of the Hub's cache."""
    has_metal: bool
    """Without it weights are loaded as float32."""


def this_machine() -> Machine:
    """Memory is asked for once; free disk every time."""
    memory, has_metal = _memory()
    return Machine(memory, free_disk(hub_cache()), has_metal)


def free_disk(folder: Path) -> int:
    """Free bytes where the folder is or would be."""
    existing = next(place for place in (folder, *folder.parents) if place.is_dir())
    return shutil.disk_usage(existing).free


def physical_memory() -> int:
    """Bytes, in use or not."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@cache
def _memory() -> tuple[int, bool]:
    physical = physical_memory()
    if sys.platform != "darwin":
        return physical, False
    asked = subprocess.run([sys.executable, "-c", _ASK_METAL], capture_output=True, text=True)
    said = asked.stdout.strip()
    return (int(said) if said.isdigit() else int(physical * _METAL_SHARE)), True
