"""The wheel that `uv tool install .` and `pipx install .` build: what the program reads, and nothing else."""

import subprocess
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[1]
PACKAGES = ("app", "models", "mlx_spec")


def wheel_files() -> set[str]:
    """Paths in the wheel, as hatchling would write them. Builds nothing."""
    return {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}


def tracked(*folders: str) -> set[str]:
    git = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", *folders]
    names = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name for name in names if (ROOT / name).is_file()}


def test_the_wheel_is_the_three_packages_whole_and_nothing_else() -> None:
    files = wheel_files()
    assert {name.split("/")[0] for name in files} == set(PACKAGES)
    assert not [name for name in files if "/tests/" in name or name.endswith((".pyc", ".log"))]
    if (ROOT / ".git").exists():
        assert tracked(*PACKAGES) <= files
