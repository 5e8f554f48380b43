"""Heat, power and load are read from real system output; facts that it lacks are left out."""

import sys
from pathlib import Path
from typing import Any

import pytest

from app.compare.report import conditions

# Output of macOS programs, recorded by others on real machines (issues and sources on GitHub).

COOL = """\
Note: No thermal warning level has been recorded
Note: No performance warning level has been recorded
Note: No CPU power status has been recorded
"""
"""Apple silicon (exelban/stats#749)."""

THROTTLED = """\
2020-06-26 12:30:37 +0200 CPU Power notify
	CPU_Scheduler_Limit 	= 40
	CPU_Available_CPUs 	= 8
	CPU_Speed_Limit 	= 28
"""
"""yujitach/MenuMeters#158."""

WARNING = """\
2026-08-20 13:11:08 +0700 Thermal Warning Level = 1
Note: No performance warning level has been recorded
Note: No CPU power status has been recorded
"""
"""As Apple's pmset.c prints it."""

ON_AC = """\
Now drawing from 'AC Power'
 -InternalBattery-0 (id=28442723)\t7%; AC attached; not charging present: true
"""

ON_BATTERY = """\
Now drawing from 'Battery Power'
 -InternalBattery-0 (id=22675555)\t97%; discharging; 4:09 remaining present: true
"""

SETTINGS = """\
System-wide power settings:
Currently in use:
 standby              1
 sleep                15 (sleep prevented by powerd)
 lowpowermode         1
"""


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (COOL, {}),
        (THROTTLED, {"cpu_scheduler_limit": 40, "cpu_available_cpus": 8, "cpu_speed_limit": 28}),
        (WARNING, {"thermal_warning_level": 1}),
    ],
)
def test_thermal_levels_are_read(text: str, read: dict[str, int]) -> None:
    assert conditions.thermal_levels(text) == read


PRESSURE = "com.apple.system.thermalpressurelevel"


@pytest.mark.parametrize(
    ("batt", "settings", "pressure", "memory", "read"),
    [
        (ON_AC, SETTINGS, f"{PRESSURE} 2\n", "1\n",
         {"power_source": "AC Power", "battery_percent": 7, "battery_state": "AC attached",
          "low_power_mode": True, "thermal_pressure": "heavy", "memory_pressure_level": 1}),
        (ON_BATTERY, SETTINGS.replace("mode         1", "mode         0"), f"{PRESSURE} 9\n", "x",
         {"power_source": "Battery Power", "battery_percent": 97, "battery_state": "discharging",
          "low_power_mode": False}),
        ("Now drawing from 'AC Power'\n", "", "", "", {"power_source": "AC Power"}),
        ("", "", "", "", {}),
    ],
)  # fmt: skip
def test_a_mac_reports_heat_power_and_memory(
    batt: str,
    settings: str,
    pressure: str,
    memory: str,
    read: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    printed = {"batt": batt, "-g": settings, PRESSURE: pressure, "therm": WARNING}
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "darwin")
        patch.setattr(conditions, "output_of", lambda *command: printed.get(command[-1], memory))
        found = conditions.conditions()
    assert found.pop("taken") and len(found.pop("load_average")) == 3
    assert found == read | {"thermal_levels": {"thermal_warning_level": 1}}


def test_linux_reports_what_its_files_hold(tmp_path: Path) -> None:
    assert conditions.linux(tmp_path) == {}
    for file, text in {
        "class/thermal/thermal_zone0/type": "x86_pkg_temp\n",
        "class/thermal/thermal_zone0/temp": "45500\n",
        "class/thermal/thermal_zone1/type": "broken\n",
        "devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
        "devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "1800000\n",
        "class/power_supply/AC/online": "0\n",
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    assert conditions.linux(tmp_path) == {
        "temperatures_celsius": {"x86_pkg_temp": 45.5},
        "cpu_governor": "powersave",
        "cpu_scaling_cur_freq_mhz": 1800,
        "power_source": "Battery Power",
    }


def test_this_machine_is_described() -> None:
    found = conditions.system()
    assert found["cores"] >= 1 and found["memory_for_models_bytes"] > 0
    assert conditions.output_of("/no/such/program") == ""
