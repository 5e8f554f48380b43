"""Said once, in the first chat on a machine: what the built-in pair is, and which real ones fit here."""

from contextlib import suppress
from pathlib import Path

from models.catalogue import all_pairs
from models.fit import fit
from models.installed import installed
from models.machine import Machine
from models.paths import data_folder
from models.size_text import size_text

OFFERED = 3

BUILTIN = """\
Welcome. The pair that answers now ships with the program: two very small models, trained to show how \
drafting works. It can talk about speculative decoding and about this program, and knows little else."""


def is_first_run() -> bool:
    """Whether nothing of this was said here before."""
    return not _marker().exists()


def remember_first_run() -> None:
    """It was said. A disk that cannot be written to means that it is said again."""
    with suppress(OSError):
        _marker().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _marker().touch()


def welcome_text(machine: Machine) -> str:
    """What the built-in pair is, and the smallest and the largest real pairs that fit this machine."""
    real = sorted((p for p in all_pairs() if p.download_bytes and not p.own), key=lambda p: p.memory_bytes)
    fitting = [pair for pair in real if fit(pair, machine).verdict == "fits"]
    memory = size_text(machine.memory_bytes)
    if not fitting:
        return f"{BUILTIN}\nNo real pair fits this machine, where models may use {memory}: F2 says why."
    offered = fitting if len(fitting) <= OFFERED else [fitting[0], *fitting[1 - OFFERED :]]
    lines = [f"{BUILTIN}\nReal pairs that fit this machine, where models may use {memory}:"]
    for pair in offered:
        command = f"/use {pair.name}" if installed(pair.spec) else f"/pull {pair.name}"
        size = "here already" if installed(pair.spec) else size_text(pair.download_bytes)
        lines.append(f"  {command}  {size}: {pair.good_for}")
    return "\n".join([*lines, "F2 shows all of them and what they need, F1 the keys."])


def _marker() -> Path:
    return data_folder() / "welcomed"
