"""Whether a pair fits this machine, and why not."""

from dataclasses import dataclass
from typing import Literal

from models.files import bytes_below
from models.pairs.catalogue import Pair
from models.pairs.installed import installed, installed_bytes, repository_folder
from models.size_text import size_text
from models.speed.machine import Machine, this_machine

Verdict = Literal["fits", "tight", "does not fit"]

_TIGHT = 0.85
DISK_MARGIN = 500_000_000
"""Bytes that a download leaves free."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The verdict and a sentence with the numbers."""

    verdict: Verdict
    why: str
    memory_share: float
    """Needed memory as a share of the machine's; above 1 it does not fit."""


def fit(pair: Pair, machine: Machine | None = None) -> Fit:
    """Checks memory first, then disk space for the download."""
    machine = machine or this_machine()
    needed = memory_needed(pair, machine)
    share = needed / machine.memory_bytes
    why = "" if needed == pair.memory_bytes else " (float32, without Metal)"
    room = size_text(machine.memory_bytes)
    numbers = f"needs about {size_text(needed)} of memory{why}, {room} can be used here"
    if needed > machine.memory_bytes:
        return Fit("does not fit", numbers, share)
    caches = (repository_folder(source.repo) / "blobs" for source in pair.spec.sources)
    # What interrupted pulls left counts too.
    download = 0 if installed(pair.spec) else pair.download_bytes - sum(map(bytes_below, caches))
    if download > 0 and download + DISK_MARGIN > machine.disk_bytes:
        free = size_text(machine.disk_bytes)
        return Fit("does not fit", f"downloads {size_text(download)}, {free} of disk are free", share)
    if needed > _TIGHT * machine.memory_bytes:
        return Fit("tight", f"{numbers}; close other programs", share)
    return Fit("fits", numbers, share)


def memory_needed(pair: Pair, machine: Machine) -> int:
    """Bytes at 4096 tokens of context. Without Metal weights become float32 and caches double."""
    # Of the user's own weights; the built-in pair's need is measured instead.
    own = (installed_bytes(source) or 0 for source in pair.spec.sources if pair.own and source.is_local)
    stored = pair.download_bytes + sum(own)
    if machine.has_metal or not stored:
        return pair.memory_bytes
    bits = pair.quantization.removesuffix("-bit")
    stored_bits = 16 if bits == "bf16" else int(bits if bits.isdigit() else 4) + 0.5
    return int(stored * 32 / stored_bits + 2 * (pair.memory_bytes - stored))
