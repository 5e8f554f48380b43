"""What the README says is so: its snippet runs, its commands exist, its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_python_snippet_has_six_lines_and_prints_an_answer():
    (snippet,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len([line for line in snippet.splitlines() if line]) == 6
    run = subprocess.run(
        [sys.executable, "-c", snippet], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.split()) >= 3
    assert "<|" not in run.stdout


def test_every_make_target_named_is_one():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"make (?:-s )?([a-z-]+)", README))
    assert named and named <= targets


def test_every_command_named_is_one():
    from app.cli import cli

    known = {c.name for c in cli.registered_commands} | {g.name for g in cli.registered_groups}
    named = set(re.findall(r"mlx-spec ([a-z]+)", README))
    assert {"generate", "bench", "check"} <= named <= known


def test_every_link_and_picture_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    here = [link for link in links if "://" not in link]
    assert here
    assert [link for link in here if not (ROOT / link).exists()] == []
