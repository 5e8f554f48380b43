"""Heat, power and load are read from what systems really print; what they leave out is left out."""

from pathlib import Path
from typing import Any

import pytest

from app.compare.report import conditions
from app.compare.report.conditions import parse_battery, parse_low_power, parse_pressure, parse_therm
from tests.app.compare import recorded


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (recorded.THERM_SILENT, {}),
        (
            recorded.THERM_THROTTLED,
            {"cpu_scheduler_limit": 40, "cpu_available_cpus": 8, "cpu_speed_limit": 28},
        ),
        (recorded.THERM_WARNING, {"thermal_warning_level": 1}),
        ("", {}),
    ],
)
def test_thermal_levels_are_read(text: str, read: dict[str, int]) -> None:
    assert parse_therm(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            recorded.ON_AC,
            {"power_source": "AC Power", "battery_percent": 7, "battery_state": "AC attached"},
        ),
        (
            recorded.ON_BATTERY,
            {"power_source": "Battery Power", "battery_percent": 97, "battery_state": "discharging"},
        ),
        (recorded.DESKTOP, {"power_source": "AC Power"}),
        ("", {}),
    ],
)
def test_the_power_source_is_read(text: str, read: dict[str, Any]) -> None:
    assert parse_battery(text) == read


def test_low_power_mode_is_read() -> None:
    assert parse_low_power(recorded.SETTINGS) == {"low_power_mode": True}
    assert parse_low_power(recorded.SETTINGS.replace("mode         1", "mode         0")) == {
        "low_power_mode": False
    }
    assert parse_low_power("") == {}


def test_the_pressure_of_heat_is_read() -> None:
    assert parse_pressure(recorded.PRESSURE) == {"thermal_pressure": "heavy"}
    assert parse_pressure("com.apple.system.thermalpressurelevel 9\n") == {}
    assert parse_pressure("") == {}


def test_a_mac_tells_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        ("-g", "batt"): recorded.ON_BATTERY,
        ("-g", "therm"): recorded.THERM_WARNING,
        ("-g",): recorded.SETTINGS,
        ("-g", "com.apple.system.thermalpressurelevel"): recorded.PRESSURE,
        ("-n", "kern.memorystatus_vm_pressure_level"): "1\n",
    }
    monkeypatch.setattr(conditions.sys, "platform", "darwin")
    monkeypatch.setattr(conditions, "output_of", lambda program, *rest: answers[rest])
    found = conditions.conditions()
    monkeypatch.undo()
    assert found["power_source"] == "Battery Power"
    assert found["low_power_mode"] is True
    assert found["thermal_pressure"] == "heavy"
    assert found["thermal_levels"] == {"thermal_warning_level": 1}
    assert found["memory_pressure_level"] == 1
    assert len(found["load_average"]) == 3


def test_linux_tells_what_its_files_hold(tmp_path: Path) -> None:
    assert conditions._linux(tmp_path) == {}
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
    assert conditions._linux(tmp_path) == {
        "temperatures_celsius": {"x86_pkg_temp": 45.5},
        "cpu_governor": "powersave",
        "cpu_scaling_cur_freq_mhz": 1800,
        "power_source": "Battery Power",
    }


def test_this_machine_tells_what_it_is() -> None:
    found = conditions.system()
    assert found["cores"] >= 1 and found["memory_for_models_bytes"] > 0
    assert conditions.output_of("/no/such/program") == ""
