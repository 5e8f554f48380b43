"""What the first start says: what the built-in pair is, and which real pairs fit this machine."""

from contextlib import suppress
from pathlib import Path

from app.chat.pair_facts import Facts
from app.shell.expected_speed import SOURCE, why_none, with_range
from models.pairs.catalogue import all_pairs
from models.pairs.installed import installed
from models.paths import data_folder
from models.size_text import size_text
from models.speed.chips import Chip
from models.speed.fit import fit
from models.speed.machine import Machine
from models.speed.roofline import expect

SUGGESTED = 3

BUILTIN = """\
The built-in pair ships with the program: two very small models that show how drafting works. It talks \
about speculative decoding and this program, and knows little else."""


def is_first_run() -> bool:
    """Whether the program has not explained itself on this machine yet."""
    return not _marker().exists()


def remember_first_run() -> None:
    """Explained once. On a disk that cannot be written to, the next start explains again."""
    with suppress(OSError):
        _marker().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _marker().touch()


def suggestions(machine: Machine, chip: Chip | None) -> list[Facts]:
    real = sorted((p for p in all_pairs() if p.download_bytes and not p.own), key=lambda p: p.memory_bytes)
    fitting = [pair for pair in real if fit(pair, machine).verdict == "fits"]
    chosen = fitting if len(fitting) <= SUGGESTED else [fitting[0], *fitting[1 - SUGGESTED :]]
    return [Facts(p, installed(p.spec), expected=expect(p, chip) if chip else None) for p in chosen]


def speed(facts: Facts, *, short: bool) -> str:
    """Tokens per second to expect with drafting, or with and without and their ranges; empty if unknown."""
    expected = facts.expected
    if expected is None:
        return ""
    if short:
        return f"{expected.drafted:.0f} tok/s"
    drafted = with_range(expected.drafted, expected.drafted_range)
    return f"about {drafted} tok/s drafted, {with_range(expected.plain, expected.plain_range)} plain"


def about_suggestions(machine: Machine, found: list[Facts]) -> str:
    """The line above them, which names keys as `{app.pairs}`: the machine's memory, the speeds' source."""
    memory = size_text(machine.memory_bytes)
    if not found:
        return f"No real pair fits this machine, where models may use {memory}. {{app.pairs}} says why."
    speeds = f"Speeds are {SOURCE}." if any(one.expected for one in found) else why_none()
    return f"These real pairs fit here, where models may use {memory}. {speeds}"


def _marker() -> Path:
    return data_folder() / "welcomed"
