"""What the repository promises as a whole: no address of a registry or machine, small weights, full locks."""

import re
import subprocess
import tomllib
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
WEIGHTS_LIMIT = 16 * 2**20
HEAD_LIMIT = 12_000_000

# Written so that no pattern matches this file.
REGISTRIES = re.compile(
    r"pypi\.org|python[h]osted|npmjs\.(org|com)|anaconda\.org|file:[/]{2}|https?://[^\s/]*(pypi|devpi)"
    r"|https?://\S+/simple\b|-[-](extra-)?index-url|\bindex[-_]url *=|-[-]find-links"
)
MACHINES = re.compile(
    r"/(work|root)/[a-z.]|/opt/(wheels|p[y]pi)|\b(issues [s]how|find_[s]tring|give_[b]ack)\b"
)

# An entry of a lock: `name==version ; marker \` and its hashes below.
PINNED = re.compile(
    r"^([a-z0-9._-]+)==(\S+)(?: ; (.+?))? \\\n((?: {4}--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M
)


def tracked_files() -> list[Path]:
    """All files that git knows; in a copy that git does not know, all but what is made there."""
    git = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z"]
    if (ROOT / ".git").exists():
        names = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
        return [ROOT / name for name in names if name and (ROOT / name).is_file()]
    made = {".venv", "__pycache__", ".pytest_cache", ".ruff_cache", ".import_linter_cache"}
    return [path for path in ROOT.rglob("*") if path.is_file() and not made & set(path.parts)]


@cache
def tracked_texts() -> dict[Path, str]:
    """In lower case: to ignore it takes patterns twice as long."""
    contents = {path.relative_to(ROOT): path.read_bytes() for path in tracked_files()}
    return {path: content.decode().lower() for path, content in contents.items() if b"\0" not in content}


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path}:{number}: {line[:100]}"
        for path, text in tracked_texts().items()
        if pattern.search(text)
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def locked(name: str) -> dict[str, list[tuple[str, str]]]:
    """The versions of a lock with the markers under which they hold, by package."""
    versions: dict[str, list[tuple[str, str]]] = {}
    for package, version, marker, _ in PINNED.findall((ROOT / name).read_text()):
        versions.setdefault(package, []).append((version, marker))
    return versions


def declared(*groups: str) -> list[Requirement]:
    """What pyproject.toml asks for, with the groups named."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = list(project["project"]["dependencies"])
    for group in groups:
        asked += [line for line in project["dependency-groups"][group] if isinstance(line, str)]
    return [Requirement(line) for line in asked]


def test_no_file_names_a_registry_or_an_index() -> None:
    assert lines_with(REGISTRIES) == []


def test_no_file_names_a_place_on_some_machine() -> None:
    assert lines_with(MACHINES) == []


def test_the_weights_shipped_are_small() -> None:
    files = tracked_files()
    shipped = [path for path in files if ROOT / "models" / "builtin" in path.parents]
    assert sum(path.stat().st_size for path in shipped) <= WEIGHTS_LIMIT
    heads = [path for path in files if ROOT / "models" / "heads" in path.parents]
    assert heads and max(path.stat().st_size for path in heads) <= HEAD_LIMIT


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_every_line_of_a_lock_is_a_version_with_hashes(name: str) -> None:
    text = (ROOT / name).read_text()
    rest = PINNED.sub("", text)
    assert [line for line in rest.splitlines() if line.strip() and not line.lstrip().startswith("#")] == []
    assert len(locked(name)) > 30


@pytest.mark.parametrize(
    ("name", "groups"), [("requirements.lock", ["build"]), ("requirements-dev.lock", ["build", "dev"])]
)
def test_a_lock_holds_what_pyproject_asks_for(name: str, groups: list[str]) -> None:
    versions = locked(name)
    for asked in declared(*groups):
        found = versions.get(canonicalize_name(asked.name), [])
        assert found, f"{name} lacks {asked}: run make lock"
        assert all(version in asked.specifier for version, _ in found), f"{name} has {found}, not {asked}"


def test_the_development_lock_holds_the_plain_one() -> None:
    development = locked("requirements-dev.lock")
    for package, versions in locked("requirements.lock").items():
        assert development.get(package) == versions, package


def test_the_locks_leave_nothing_out() -> None:
    versions = locked("requirements-dev.lock")
    missing = []
    for package in versions:
        try:
            needs = [Requirement(line) for line in requires(package) or []]
        except PackageNotFoundError:
            continue
        for need in needs:
            here = need.marker is None or need.marker.evaluate({"extra": ""})
            if here and canonicalize_name(need.name) not in versions:
                missing.append(f"{package} needs {need}")
    assert missing == []


def test_the_locks_cover_macos_and_linux() -> None:
    versions = locked("requirements.lock")
    assert "darwin" in versions["mlx-metal"][0][1]
    assert "linux" in versions["mlx-cpu"][0][1]


def test_durations_are_measured_by_a_clock_that_cannot_jump() -> None:
    """The wall clock only dates what is kept: messages, results, and files that others wrote."""
    wall = re.compile(r"\btime\.time\(|datetime\.(now|utcnow|today)\(")
    dated = ("tests/", "benchmarks/", "train_builtin/", "app/compare/report/")
    found = {line.split(":")[0] for line in lines_with(wall) if not line.startswith(dated)}
    dating = {"compare/collector", "history/database", "history/records", "server/service"}
    assert found <= {*(f"app/{name}.py" for name in dating), "models/hub/incomplete.py"}
