"""Imports go only downwards, and each part loads only what it is for."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
WATCHED = ("mlx", "mlx_lm", "transformers", "huggingface_hub", "textual", "typer", "torch")


def run(program: str) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def loaded_by(statement: str) -> set[str]:
    """Which of the watched packages a fresh interpreter holds after the statement."""
    return set(run(f"import sys\n{statement}\nprint(*(x for x in {WATCHED} if x in sys.modules))").split())


def test_the_import_contracts_hold() -> None:
    run("from importlinter.cli import lint_imports_command as lint; lint(['--no-cache'])")


CIRCLES = """
import graphlib, grimp
graph = grimp.build_graph("app", "models", "mlx_spec", cache_dir=None)
graphlib.TopologicalSorter({m: graph.find_modules_directly_imported_by(m) for m in graph.modules}).prepare()
"""
"""Imports for the type checker count."""


def test_no_modules_import_each_other_in_a_circle() -> None:
    run(CIRCLES)


def test_the_engines_types_and_the_names_of_pairs_and_events_load_no_model_library() -> None:
    engine = "mlx_spec, mlx_spec.types, mlx_spec.stats, mlx_spec.errors, app.engine.events"
    pairs = "models, models.pairs.pair, models.pairs.catalogue, models.paths"
    assert loaded_by(f"import {engine}, {pairs}") == set()


def test_the_engine_and_its_process_load_no_screen_and_no_command_line() -> None:
    loaded = loaded_by("from mlx_spec import Engine; import app.engine.session, app.engine.process")
    assert loaded & {"textual", "typer", "torch"} == set()


def test_the_terminal_app_loads_no_model_library() -> None:
    assert loaded_by("import app.tui.app, app.tui.screens.pairs") == {"textual"}


def test_the_server_loads_no_model_library_and_no_screen() -> None:
    assert loaded_by("import app.server.run") == set()
