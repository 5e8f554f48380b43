"""Energy is read from what powermetrics and IOReport tell, and left out where nothing tells it."""

import os
import sys
import types
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.compare.report import energy, powermetrics
from app.compare.report.energy import IOReportMeter, PowermetricsMeter, find_meter
from tests.app.report import recorded


def test_a_recorded_output_is_read_sample_by_sample() -> None:
    first, second = powermetrics.parse(recorded.POWERMETRICS)
    assert first.seconds == pytest.approx(1.0029)
    assert first.watts == pytest.approx({"CPU": 0.823, "GPU": 0.026, "ANE": 0.323})
    assert first.joules == pytest.approx(1.0029 * 1.172)
    assert second.joules == pytest.approx(1.01009 * 0.445), "the GPU's power, told twice, counts once"


def test_a_cut_off_or_foreign_output_gives_what_is_whole() -> None:
    cut = recorded.POWERMETRICS[: recorded.POWERMETRICS.index("CPU Power: 205")]
    assert len(powermetrics.parse(cut)) == 1
    assert powermetrics.parse("powermetrics must be invoked as the superuser\n") == []
    assert powermetrics.parse("") == []


def test_powermetrics_runs_beside_the_work_and_is_ended(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.write_text(recorded.POWERMETRICS)
    script = tmp_path / "powermetrics"
    script.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/pid\ncat {output}\ntouch {tmp_path}/done\nexec sleep 60\n"
    )
    script.chmod(0o755)

    def work() -> None:
        while not (tmp_path / "done").exists():
            pass

    used = PowermetricsMeter((str(script),)).measure(work)
    assert used is not None
    mean_watts = (1.0029 * 1.172 + 1.01009 * 0.445) / (1.0029 + 1.01009)
    assert used.joules == pytest.approx(mean_watts * used.seconds)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_powermetrics_without_root_has_nothing_to_say(tmp_path: Path) -> None:
    script = tmp_path / "powermetrics"
    script.write_text("#!/bin/sh\necho must be invoked as the superuser >&2\nexit 1\n")
    script.chmod(0o755)
    assert PowermetricsMeter((str(script),)).measure(lambda: None) is None


def test_the_chips_own_counters_are_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    used = SimpleNamespace(cpu_total_mj=1500, gpu_mj=6000, gpu_sram_mj=None, dram_mj=500)

    class Monitor:
        def begin_window(self, label: str, restart: bool = False) -> None:
            self.label = label

        def end_window(self, label: str) -> SimpleNamespace:
            assert label == self.label
            return used

    package = types.ModuleType("zeus_apple_silicon")
    package.AppleEnergyMonitor = Monitor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", package)
    done = []
    found = IOReportMeter().measure(lambda: done.append(1))
    assert found is not None and found.joules == 8.0
    assert done == [1]
    used.gpu_mj = None
    assert IOReportMeter().measure(lambda: None) is None


def test_no_meter_where_this_is_no_mac_or_nobody_may_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy.sys, "platform", "linux")
    assert find_meter() is None
    monkeypatch.setattr(energy.sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "zeus_apple_silicon", None)
    monkeypatch.setattr(energy.os, "geteuid", lambda: 501)
    assert find_meter() is None
