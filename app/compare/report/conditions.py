"""Under which conditions something is measured: heat, power source, load, if the system reports them."""

import os
import platform
import re
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from models.speed.machine import chip_name, output_of, this_chip, this_machine

MEMORY_PRESSURE = "kern.memorystatus_vm_pressure_level"
"""1 is normal, 2 a warning, 4 critical."""

THERMAL_PRESSURE = "com.apple.system.thermalpressurelevel"
PRESSURES = ("nominal", "moderate", "heavy", "trapping", "sleeping")
"""What powermetrics calls the levels; it reads the same key, which any user may."""


def conditions() -> dict[str, Any]:
    """As they are now."""
    found: dict[str, Any] = {
        "taken": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }
    return found | (_mac() if sys.platform == "darwin" else _linux(Path("/sys")))


def system() -> dict[str, Any]:
    """What does not change while measuring. Names the kind of machine, never its owner or its own name."""
    found: dict[str, Any] = {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": chip_name() or _cpu_model(Path("/proc/cpuinfo")) or "unknown",
        "cores": os.cpu_count(),
        "memory_for_models_bytes": this_machine().memory_bytes,
    }
    if sys.platform == "darwin":
        found["system"] = f"macOS {platform.mac_ver()[0]}"
        found["model"] = output_of("/usr/sbin/sysctl", "-n", "hw.model").strip()
        if chip := this_chip():
            found["memory_bandwidth_gb_s"] = chip.bandwidth
    return found


def parse_therm(text: str) -> dict[str, int]:
    """`pmset -g therm`: the levels and limits it has on record; empty where it has none.

    Apple silicon mostly says "Note: No ... has been recorded". Else a number stands behind `Thermal Warning
    Level`, or behind names like `CPU_Speed_Limit` (percent; 100 is unlimited).
    """
    numbered = re.findall(r"^(?:\d[\d: +-]*)?\s*([A-Z][A-Za-z_ ]*?)\s*=\s*(\d+)\s*$", text, re.MULTILINE)
    return {name.lower().replace(" ", "_"): int(number) for name, number in numbered}


def parse_battery(text: str) -> dict[str, Any]:
    """`pmset -g batt`: the power source, and charge and state where there is a battery."""
    found: dict[str, Any] = {}
    if source := re.search(r"^Now drawing from '([^']+)'", text, re.MULTILINE):
        found["power_source"] = source[1]
    if battery := re.search(r"-InternalBattery-\d+.*?\t\s*(\d+)%; ([^;]+)", text):
        found["battery_percent"] = int(battery[1])
        found["battery_state"] = battery[2].strip()
    return found


def parse_low_power(text: str) -> dict[str, bool]:
    """`pmset -g`: whether low power mode is on."""
    mode = re.search(r"^\s*(?:lowpowermode|powermode)\s+(\d+)\s*$", text, re.MULTILINE)
    return {"low_power_mode": mode[1] == "1"} if mode else {}


def parse_pressure(text: str) -> dict[str, str]:
    """`notifyutil -g com.apple.system.thermalpressurelevel`: how much heat holds the chip back."""
    level = re.fullmatch(rf"{re.escape(THERMAL_PRESSURE)} (\d+)\s*", text)
    return {"thermal_pressure": PRESSURES[int(level[1])]} if level and int(level[1]) < len(PRESSURES) else {}


def _mac() -> dict[str, Any]:
    found: dict[str, Any] = parse_battery(output_of("/usr/bin/pmset", "-g", "batt"))
    found |= parse_low_power(output_of("/usr/bin/pmset", "-g"))
    found |= parse_pressure(output_of("/usr/bin/notifyutil", "-g", THERMAL_PRESSURE))
    found["thermal_levels"] = parse_therm(output_of("/usr/bin/pmset", "-g", "therm"))
    if (pressure := output_of("/usr/sbin/sysctl", "-n", MEMORY_PRESSURE).strip()).isdigit():
        found["memory_pressure_level"] = int(pressure)
    return found


def _linux(root: Path) -> dict[str, Any]:
    """From the kernel's files; virtual machines have few of them."""
    found: dict[str, Any] = {}
    temperatures = {}
    for zone in sorted((root / "class/thermal").glob("thermal_zone*")):
        with suppress(OSError, ValueError):
            kind = (zone / "type").read_text().strip()
            temperatures[kind] = int((zone / "temp").read_text()) / 1000
    if temperatures:
        found["temperatures_celsius"] = temperatures
    frequency = root / "devices/system/cpu/cpu0/cpufreq"
    with suppress(OSError):
        found["cpu_governor"] = (frequency / "scaling_governor").read_text().strip()
    for name in ("scaling_cur_freq", "cpuinfo_max_freq"):
        with suppress(OSError, ValueError):
            found[f"cpu_{name}_mhz"] = int((frequency / name).read_text()) // 1000
    for supply in sorted((root / "class/power_supply").glob("*/online")):
        with suppress(OSError):
            online = supply.read_text().strip() == "1"
            found["power_source"] = "AC Power" if online else "Battery Power"
    return found


def _cpu_model(file: Path) -> str | None:
    with suppress(OSError):
        if named := re.search(r"^model name\s*: (.+)$", file.read_text(), re.MULTILINE):
            return named[1]
    return None
