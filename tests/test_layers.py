"""Imports go only downwards, and each part loads only what it is for."""

import graphlib
import subprocess
import sys
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]
LIBRARIES = {"mlx", "mlx_lm", "transformers", "huggingface_hub", "httpx2", "numpy"}
"""The engine's."""
WATCHED = {*LIBRARIES, "textual", "typer", "torch"}


def run(program: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_import_contracts_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert lint_imports(no_cache=True) == 0


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports for the type checker count."""
    graph = grimp.build_graph("app", "models", "mlx_spec", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    graphlib.TopologicalSorter(imports).prepare()


@pytest.mark.parametrize(
    "steps",
    [
        {
            "import mlx_spec, mlx_spec.types, mlx_spec.stats, mlx_spec.errors, app.engine.events": set(),
            "import models, models.pairs.pair, models.pairs.catalogue, models.paths": set(),
            "import app.tui.app, app.tui.run, app.tui.screens.pairs": {"textual"},
            "import app.server.run": {"textual", "httpx2"},
        },
        {
            "from app.cli import main; main(['--help']), main(['generate', '--help']), main(['pairs'])": {
                "typer"
            }
        },
        {"from mlx_spec import Engine; import app.engine.session, app.engine.process": LIBRARIES},
    ],
    ids=["the server and the chat", "the command line", "the engine and its process"],
)
def test_each_part_loads_only_what_it_is_for(steps: dict[str, set[str]]) -> None:
    """One interpreter for several steps: what is loaded never gets less."""
    told = run(
        "import contextlib, io, sys\n"
        f"for step, its_own in {steps}.items():\n"
        "    with contextlib.redirect_stdout(io.StringIO()):\n"
        "        exec(step)\n"
        f"    if others := {WATCHED} & set(sys.modules) - its_own:\n"
        "        print(step, 'loads', others)\n"
    )
    assert told == ""
