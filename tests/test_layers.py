"""Imports go only downwards, and each part loads only what it is for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("app", "models", "mlx_spec")
WATCHED = ("mlx", "mlx_lm", "transformers", "huggingface_hub", "textual", "typer", "torch")


def run(program: str, *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


def loaded_by(statement: str) -> set[str]:
    """Which of the watched packages a fresh interpreter holds after the statement."""
    result = run(f"import sys\n{statement}\nprint(*(name for name in {WATCHED} if name in sys.modules))")
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    return run(
        "from importlinter.cli import lint_imports_command as lint; lint(['--no-cache'])", folder=folder
    )


def test_the_import_contracts_hold() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout


CIRCLES = """
import graphlib, grimp
graph = grimp.build_graph("app", "models", "mlx_spec", cache_dir=None)
graphlib.TopologicalSorter({m: graph.find_modules_directly_imported_by(m) for m in graph.modules}).prepare()
"""
"""Imports for the type checker count."""


def test_no_modules_import_each_other_in_a_circle() -> None:
    result = run(CIRCLES)
    assert result.returncode == 0, result.stderr


def test_a_circle_for_the_type_checker_alone_is_noticed(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    with (tmp_path / "app/chat/conversation.py").open("a") as source:
        source.write(
            "\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n"
            "    from app.chat.open_chat import OpenChat\n"
        )
    error = run(CIRCLES, folder=tmp_path).stderr
    assert "CycleError" in error and "app.chat.open_chat" in error, error


FORBIDDEN = {
    "mlx_spec/engine.py": "models.pairs.pair",
    "models/pairs/pair.py": "app.engine.events",
    "models/speed/chips.py": "models.hub.download",
    "mlx_spec/types.py": "huggingface_hub",
    "mlx_spec/drafters/lookup.py": "mlx_spec.drafters.model",
    "mlx_spec/verify/rules.py": "mlx_spec.loop",
    "mlx_spec/policy/budget.py": "mlx",
    "app/engine/session.py": "textual",
    "app/server/request_queue.py": "app.tui.messages",
    "app/chat/conversation.py": "app.compare.store",
    "app/tui/keys/in_force.py": "app.tui.widgets.message",
    "app/tui/screens/help.py": "app.tui.screens.chat",
    "app/commands/pull.py": "app.tui.app",
    "app/tui/widgets/figures.py": "mlx",
}
"""Module to what it may not import: every contract is broken once at least."""


def test_forbidden_imports_are_noticed(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for module, forbidden in FORBIDDEN.items():
        with (tmp_path / module).open("a") as source:
            source.write(f"\nimport {forbidden}\n")
    result = lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout
    assert "Contracts: 0 kept, 12 broken" in result.stdout
    for module, forbidden in FORBIDDEN.items():
        name = module.removesuffix(".py").replace("/", ".")
        assert f"{name} -> {forbidden} (l." in result.stdout, result.stdout


def copy_packages(folder: Path) -> None:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=lambda _, names: without_data(names))


def without_data(names: list[str]) -> set[str]:
    return {name for name in names if "." in name and not name.endswith(".py") or name == "__pycache__"}


def test_importing_the_engine_package_loads_nothing() -> None:
    assert loaded_by("import mlx_spec, mlx_spec.types, mlx_spec.stats, mlx_spec.errors") == set()


def test_the_engine_loads_no_screen_and_no_command_line() -> None:
    assert loaded_by("from mlx_spec import Engine") & {"textual", "typer", "torch"} == set()


def test_naming_a_pair_loads_no_model_library() -> None:
    assert loaded_by("import models, models.pairs.pair, models.pairs.catalogue, models.paths") == set()


def test_the_terminal_app_loads_no_model_library() -> None:
    assert loaded_by("import app.tui.app, app.tui.screens.pairs") == {"textual"}


def test_the_server_loads_no_model_library_and_no_screen() -> None:
    assert loaded_by("import app.server.run") == set()


def test_the_command_line_starts_without_screens_and_models() -> None:
    assert loaded_by("import app.cli") == {"typer"}


def test_the_session_and_its_events_load_no_screen() -> None:
    assert loaded_by("import app.engine.events") == set()
    assert "textual" not in loaded_by("import app.engine.session, app.engine.process")
