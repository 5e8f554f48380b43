"""The conditions of a measurement: the load, and on a Mac, as far as it reports them, heat and power."""

import os
import platform
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from app.shell.machine import device_name
from models.speed.machine import output_of, this_chip, this_machine

PRESSURES = ("nominal", "moderate", "heavy", "trapping", "sleeping")
"""powermetrics' names for the levels; it reads the same key, for which no root rights are needed."""

SETTINGS = "/usr/bin/pmset", "-g"
BATTERY = *SETTINGS, "batt"
HEAT = "/usr/bin/notifyutil", "-g", "com.apple.system.thermalpressurelevel"
MEMORY = "/usr/sbin/sysctl", "-n", "kern.memorystatus_vm_pressure_level"
"""1 is normal, 2 a warning, 4 critical."""

MAC: dict[str, tuple[tuple[str, ...], str, Callable[[str], Any]]] = {
    "power_source": (BATTERY, r"^Now drawing from '([^']+)'", str),
    "battery_percent": (BATTERY, r"-InternalBattery-\d+.*?\t\s*(\d+)%;", int),
    "battery_state": (BATTERY, r"-InternalBattery-\d+.*?\t\s*\d+%; ([^;]+)", str.strip),
    "low_power_mode": (SETTINGS, r"^\s*(?:lowpowermode|powermode)\s+(\d+)\s*$", "1".__eq__),
    "thermal_pressure": (HEAT, r" ([0-4])\s*$", lambda level: PRESSURES[int(level)]),
    "memory_pressure_level": (MEMORY, r"^(\d+)\s*$", int),
}
"""Fact to the command that prints it, a pattern for its output, and a converter."""


def conditions() -> dict[str, Any]:
    found: dict[str, Any] = {
        "taken": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }
    if sys.platform == "darwin":
        for name, (command, pattern, read) in MAC.items():
            if match := re.search(pattern, output_of(*command), re.MULTILINE):
                found[name] = read(match[1])
    return found


def system() -> dict[str, Any]:
    """Facts that do not change while measuring: the kind of machine, without its name or owner."""
    found: dict[str, Any] = {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": device_name().rpartition(" (")[0],
        "cores": os.cpu_count(),
        "memory_for_models_bytes": this_machine().memory_bytes,
    }
    if sys.platform == "darwin":
        found["system"] = f"macOS {platform.mac_ver()[0]}"
        found["model"] = output_of("/usr/sbin/sysctl", "-n", "hw.model").strip()
        if chip := this_chip():
            found["memory_bandwidth_gb_s"] = chip.bandwidth
    return found
