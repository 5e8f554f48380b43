"""The workflow that a fork runs: valid YAML, commands that exist, no rights beyond reading."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.cli import cli

ROOT = Path(__file__).parents[1]


@pytest.fixture
def workflow() -> Any:
    return yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())


def test_it_runs_on_linux_and_on_apple_silicon(workflow: Any) -> None:
    systems = workflow["jobs"]["test"]["strategy"]["matrix"]["os"]
    assert "ubuntu-latest" in systems
    # Up to macos-13, and with -large or -intel, a label names an Intel machine.
    assert any(int(n) >= 14 for s in systems for n in re.findall(r"^macos-(\d+)$", s))


def test_every_command_is_a_make_target_or_a_command_of_the_program(workflow: Any) -> None:
    runs = [step["run"] for step in workflow["jobs"]["test"]["steps"] if "run" in step]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    commands = [command.name for command in cli.registered_commands]
    known = {f"make {name}" for name in targets} | {f".venv/bin/mlx-spec {name}" for name in commands}
    assert {"make test", ".venv/bin/mlx-spec check"} <= set(runs) <= known


def test_it_may_only_read_and_names_a_major_version_of_each_action(workflow: Any) -> None:
    assert workflow["permissions"] == {"contents": "read"}
    actions = [step["uses"] for step in workflow["jobs"]["test"]["steps"] if "uses" in step]
    assert actions and all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in actions)
