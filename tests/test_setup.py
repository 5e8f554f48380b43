"""Set-up: what a person sees when it works, when it fails, and when there is nothing to do.

A stand-in for uv fills the environment, so that nothing is downloaded.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

UV = f"""#!/bin/sh
echo "$@" >> uv-calls
[ ! -e broken-$1 ] || {{ echo "no network"; exit 2; }}
[ "$1" != venv ] || {{
    for folder; do :; done
    mkdir -p "$folder/bin" && touch "$folder/pyvenv.cfg" && ln -s "{sys.executable}" "$folder/bin/python"
}}
echo "noise"
echo "WARNING: more noise" >&2
"""

ONE_LINE = "mlx-spec: setting up .venv (about a minute, once) ... ready\n"

OLD_PYTHON = """#!/bin/sh
[ "$1" = --version ] || exit 1
echo "Python 3.9.6"
"""

PYTHON_FOR_INTEL = f"""#!/bin/sh
[ "$1" = -c ] || exec "{sys.executable}" "$@"
exec "{sys.executable}" -c "import platform
platform.system, platform.machine = lambda: 'Darwin', lambda: 'x86_64'
$2"
"""

UNAME_OF_A_MAC = """#!/bin/sh
[ "$1" = -s ] && echo Darwin || echo arm64
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder, with a space in its name, that holds what set-up reads."""
    clone = tmp_path / "my clone"
    clone.mkdir()
    shutil.copytree(ROOT / "scripts", clone / "scripts")
    for name in ("Makefile", "pyproject.toml", "requirements.lock", "requirements-dev.lock"):
        shutil.copy(ROOT / name, clone)
    (clone / "tools").mkdir()
    tool(clone, "uv", UV)
    return clone


def tool(clone: Path, name: str, program: str) -> None:
    path = clone / "tools" / name
    path.write_text(program)
    path.chmod(0o755)


def make(clone: Path, target: str, path: str = os.defpath) -> subprocess.CompletedProcess[str]:
    """Run make with the clone's tools before the system's."""
    environment = os.environ | {"PATH": f"{clone / 'tools'}:{path}"}
    environment.pop("MAKEFLAGS", None)
    return subprocess.run(["make", "-s", target], cwd=clone, env=environment, capture_output=True, text=True)


def calls(clone: Path) -> list[str]:
    record = clone / "uv-calls"
    return record.read_text().splitlines() if record.exists() else []


@pytest.mark.parametrize("target", ["setup", "setup-dev"])
def test_setup_prints_one_line_installs_the_lock_by_its_hashes_and_has_nothing_to_do_again(
    clone: Path, target: str
) -> None:
    result = make(clone, target)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", ONE_LINE)
    assert "noise\nWARNING: more noise\n" in (clone / ".venv" / "setup.log").read_text()
    done = calls(clone)
    locked = [call for call in done if ".lock" in call]
    assert locked and all("--require-hashes" in call for call in locked)
    again = make(clone, "setup")  # the development tools include what the program needs
    assert (again.returncode, again.stderr, calls(clone)) == (0, "", done)


@pytest.mark.parametrize("step", ["venv", "pip"])
def test_a_failed_setup_shows_why_and_the_next_one_completes_it(clone: Path, step: str) -> None:
    (clone / f"broken-{step}").touch()
    failed = make(clone, "setup")
    assert (failed.returncode != 0, failed.stdout) == (True, "")
    assert " ... failed\nmlx-spec: " in failed.stderr
    assert "no network" in failed.stderr
    (clone / f"broken-{step}").unlink()
    assert make(clone, "setup").stderr == ONE_LINE


def test_what_changed_or_is_gone_after_a_good_setup_is_done_again_also_after_a_failure(clone: Path) -> None:
    make(clone, "setup")
    before = len(calls(clone))
    with (clone / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    assert make(clone, "setup").stderr == ONE_LINE
    installing = calls(clone)[before:]
    assert installing and "venv" not in " ".join(installing).split()

    with (clone / "pyproject.toml").open("a") as project:
        project.write("\n")
    (clone / "broken-pip").touch()
    assert make(clone, "setup").returncode != 0
    (clone / "broken-pip").unlink()
    assert make(clone, "setup").stderr == ONE_LINE

    python = clone / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(clone / "gone")
    assert make(clone, "setup").stderr == ONE_LINE
    assert python.exists()


@pytest.mark.parametrize(
    ("python", "found"), [(OLD_PYTHON, "Python 3.9.6"), (PYTHON_FOR_INTEL, "Python 3.")], ids=["old", "Intel"]
)
def test_a_python_that_mlx_does_not_run_on_is_refused_with_what_to_do(
    clone: Path, python: str, found: str
) -> None:
    (clone / "tools" / "uv").unlink()
    tool(clone, "python3", python)
    for name in ("make", "sh", "dirname", "cat", "cksum", "uname", "rm"):
        (clone / "tools" / name).symlink_to(shutil.which(name) or name)
    result = make(clone, "setup", path="")
    assert result.returncode != 0
    assert "Python 3.11 or newer is needed, on a Mac one for Apple silicon; found " + found in result.stderr
    assert "uv" in result.stderr
    assert not (clone / ".venv").exists()


def test_a_mac_too_old_for_mlx_is_refused_before_anything_is_fetched(clone: Path) -> None:
    tool(clone, "uname", UNAME_OF_A_MAC)
    tool(clone, "sw_vers", "#!/bin/sh\necho 13.7.8\n")
    refused = make(clone, "setup")
    assert refused.stderr.startswith("mlx-spec: MLX needs macOS 14 or newer, this is macOS 13.7.8.\n")
    assert refused.returncode and not calls(clone)
    tool(clone, "sw_vers", "#!/bin/sh\necho 26.1\n")
    assert make(clone, "setup").stderr == ONE_LINE


def test_a_folder_that_is_no_environment_is_left_alone(clone: Path) -> None:
    (clone / ".venv").mkdir()
    (clone / ".venv" / "thesis.txt").write_text("mine")
    result = make(clone, "setup")
    assert result.returncode != 0
    assert "Move it away" in result.stderr
    assert (clone / ".venv" / "thesis.txt").read_text() == "mine"
