"""Energy of a piece of work on a Mac: IOReport, which needs no root, or powermetrics, which does."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from app.compare.report import powermetrics

POWERMETRICS = "/usr/bin/powermetrics"
INTERVAL_MS = 250
SHORTEST_SECONDS = 2.0
"""Work shorter than a few samples says little; the caller repeats it until it takes this long."""

NOT_MEASURED = (
    "Energy is left out: it is measured on Macs only, through IOReport (the package zeus-apple-silicon) "
    "or, as root, powermetrics."
)


@dataclass(frozen=True, slots=True)
class Energy:
    """What a piece of work took."""

    joules: float
    """CPU, GPU and, where it is told, memory."""
    seconds: float


class Meter(Protocol):
    """Measures work that runs on this thread."""

    name: str

    def measure(self, work: Callable[[], None]) -> Energy | None:
        """Do the work. None: the meter had nothing to say about it."""
        ...


def find_meter() -> Meter | None:
    """The best this machine has; None where energy cannot be measured."""
    if sys.platform != "darwin":
        return None
    try:
        return IOReportMeter()
    except (ImportError, RuntimeError):
        return PowermetricsMeter() if os.geteuid() == 0 and os.path.exists(POWERMETRICS) else None


class IOReportMeter:
    """The chip's own energy counters, read through zeus-apple-silicon.

    Raises:
        ImportError: the package is not installed.
        RuntimeError: the counters cannot be read.
    """

    name = "IOReport"

    def __init__(self) -> None:
        from zeus_apple_silicon import AppleEnergyMonitor  # type: ignore[import-not-found]

        self._monitor: Any = AppleEnergyMonitor()

    def measure(self, work: Callable[[], None]) -> Energy | None:
        begun = time.perf_counter()
        self._monitor.begin_window("work", restart=True)
        work()
        used = self._monitor.end_window("work")
        seconds = time.perf_counter() - begun
        parts = (used.cpu_total_mj, used.gpu_mj, used.gpu_sram_mj, used.dram_mj)
        known = [millijoules for millijoules in parts if millijoules is not None]
        return Energy(sum(known) / 1000, seconds) if used.gpu_mj is not None else None


class PowermetricsMeter:
    """powermetrics beside the work. Mean power of the whole samples, over the time that the work took."""

    name = "powermetrics"

    def __init__(self, command: tuple[str, ...] = (POWERMETRICS,)) -> None:
        self._command = (*command, "--samplers", "cpu_power,gpu_power", "-i", str(INTERVAL_MS))

    def measure(self, work: Callable[[], None]) -> Energy | None:
        with tempfile.TemporaryFile("w+") as output:
            process = subprocess.Popen(self._command, stdout=output, stderr=subprocess.DEVNULL)
            try:
                begun = time.perf_counter()
                work()
                seconds = time.perf_counter() - begun
            finally:
                process.terminate()
                process.wait()
            output.seek(0)
            samples = powermetrics.parse(output.read())
        covered = sum(sample.seconds for sample in samples)
        if not covered:
            return None
        return Energy(sum(sample.joules for sample in samples) / covered * seconds, seconds)
