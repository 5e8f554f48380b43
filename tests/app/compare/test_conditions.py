"""Heat, power and load are read from real system output; facts that it lacks are left out."""

import sys
from typing import Any

import pytest

from app.compare.report import conditions

# Output of macOS programs, recorded by others on real machines (issues and sources on GitHub).

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
    printed = {"batt": batt, "-g": settings, PRESSURE: pressure}
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "darwin")
        patch.setattr(conditions, "output_of", lambda *command: printed.get(command[-1], memory))
        found = conditions.conditions()
    assert found.pop("taken") and len(found.pop("load_average")) == 3
    assert found == read


def test_this_machine_is_described() -> None:
    found = conditions.system()
    assert found["cores"] >= 1 and found["memory_for_models_bytes"] > 0
    assert conditions.output_of("/no/such/program") == ""
