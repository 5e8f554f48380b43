"""The pages are right: the snippet runs; paths, links, modules, make targets and commands exist."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()

PAGES = sorted(
    path.relative_to(ROOT)
    for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    # The log names files as they were called on the day.
    if path.name != "log.md"
)
PATH = re.compile(r"`([\w./-]*\w\.(?:py|toml|md|json|jsonl|tcss|lock|yml)|[\w.-]+/(?:[\w.-]+/)*)`")
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
TARGET = re.compile(r"(?:`|^)make (?:-s )?([a-z-]+)", re.MULTILINE)
MODULE = re.compile(r"python -m ([\w.]+)")
OF_THE_USER = {"config.toml", "config.json"}
"""Files that the program reads or writes somewhere else."""


@cache
def repository() -> tuple[str, ...]:
    """Every file, and every folder with a slash at its end, as `/path/from/the/root`."""
    skipped = {".git", ".venv", "build", "dist"}
    tops = [top for top in ROOT.iterdir() if top.name not in skipped]
    paths = [path for top in tops for path in (top, *top.rglob("*"))]
    return tuple(f"/{path.relative_to(ROOT).as_posix()}" + "/" * path.is_dir() for path in paths)


def is_there(name: str) -> bool:
    """Whether a file or folder of the repository ends in this path."""
    return any(path.endswith("/" + name) for path in repository())


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 110


def test_the_python_snippet_has_six_lines_and_prints_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    _, snippet = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in snippet.splitlines() if line]) == 6
    exec(snippet, {})
    printed = capsys.readouterr().out
    assert len(printed.split()) >= 3 and "<|" not in printed


def test_the_table_of_speeds_is_what_bench_measured_and_shows_where_it_loses() -> None:
    found = json.loads((ROOT / "docs/benchmarks/builtin-cpu-auto.json").read_text())
    measured = found["by_category"] | {"all": found["overall"]}
    rows = re.findall(
        r"^\| (\w+)[^|]*\| (\d+) \| (\d+) \| ([\d.]+) \(([\d.]+) to ([\d.]+)\) \|$", README, re.MULTILINE
    )
    assert len(rows) == 4
    assert min(float(ratio) for _, _, _, ratio, _, _ in rows) < 1
    for name, plain, drafted, *ratios in rows:
        row = measured[name]
        assert [plain, drafted] == [f"{row['plain_tps']:.0f}", f"{row['drafted_tps']:.0f}"]
        assert ratios == [f"{ratio:.2f}" for ratio in (row["ratio"], *row["ratio_spread"])]


def test_the_file_map_names_files_that_exist() -> None:
    (files,) = re.findall(r"## Files\n\n```\n(.*?)```", README, re.DOTALL)
    room = ROOT
    for line in files.splitlines():
        name = line.split()[0]
        room = room if line.startswith(" ") else ROOT
        assert (room / name).exists(), name
        room = room if line.startswith(" ") else ROOT / name


def named(pattern: re.Pattern[str]) -> Iterator[tuple[Path, str]]:
    """What the pattern finds in any page, with the page."""
    for page in PAGES:
        for name in pattern.findall((ROOT / page).read_text()):
            yield page, name


def test_every_path_named_exists() -> None:
    assert [
        f"{page}: {name}" for page, name in named(PATH) if name not in OF_THE_USER and not is_there(name)
    ] == []


def test_every_link_leads_to_a_file() -> None:
    links = [(page, link) for page, link in named(LINK) if "://" not in link]
    assert links
    assert [f"{page}: {link}" for page, link in links if not (ROOT / page.parent / link).exists()] == []


def test_every_module_named_exists() -> None:
    paths = [(page, name.replace(".", "/")) for page, name in named(MODULE)]
    assert [
        f"{page}: {path}"
        for page, path in paths
        if not is_there(f"{path}.py") and not is_there(f"{path}/__main__.py")
    ] == []


def test_every_make_target_named_exists() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert [f"{page}: {name}" for page, name in named(TARGET) if name not in targets] == []


def test_every_command_named_exists() -> None:
    from app.cli import cli

    known = {c.name for c in cli.registered_commands} | {g.name for g in cli.registered_groups}
    commands = set(re.findall(r"mlx-spec ([a-z]+)", README + (ROOT / "docs/commands.md").read_text()))
    assert known <= commands <= known
