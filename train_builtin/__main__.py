"""`python -m train_builtin STAGE`: tokenizer, target, draft, export, samples, or all of them in this order.

`all --quick` runs a few steps of each in minutes, in build/train-quick, and leaves the shipped pair alone.
Another stage, other_draft, trains a draft on unrelated text, for measurements only.
"""

import argparse
import os
import shutil
import sys
from importlib import import_module
from pathlib import Path

# Waiting threads sleep: on a busy machine, spinning makes training ten times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


STAGES = {
    "tokenizer": "tokenizer",
    "target": "train_target",
    "draft": "distill_draft",
    "export": "export",
    "samples": "samples",
}
"""In order, with the module whose `main` runs the stage."""
EXTRA_STAGES = {"other_draft": "other_draft"}
QUICK_FOLDER = Path("build/train-quick")


def everything(arguments: list[str]) -> None:
    """Run all stages in order."""
    parser = argparse.ArgumentParser(prog="python -m train_builtin all")
    parser.add_argument("--quick", action="store_true", help=f"a few steps of each, into {QUICK_FOLDER}")
    given = quick_arguments() if parser.parse_args(arguments).quick else {}
    for stage, module in STAGES.items():
        run(module, given.get(stage, []))


def run(module: str, arguments: list[str]) -> None:
    """Run one stage; torch and MLX are imported only by the stages that need them."""
    try:
        stage = import_module(f"train_builtin.{module}")
    except ModuleNotFoundError as error:
        sys.exit(f"Training needs {error.name}, which is not installed. `make train-builtin` installs it.")
    stage.main(arguments)


def quick_arguments() -> dict[str, list[str]]:
    """Arguments by stage. Deletes an earlier quick run, because stages resume from their checkpoints."""
    shutil.rmtree(QUICK_FOLDER, ignore_errors=True)
    QUICK_FOLDER.mkdir(parents=True)
    page, pair = QUICK_FOLDER / "builtin.md", QUICK_FOLDER / "pair"
    shutil.copyfile("docs/builtin.md", page)
    work = ["--work", str(QUICK_FOLDER)]
    return {
        "tokenizer": [str(QUICK_FOLDER / "tokenizer")],
        "target": [*work, "--steps", "10"],
        "draft": [*work, "--steps", "10", "--decay", "5", "--answers", "16"],
        "export": [*work, "--out", str(pair)],
        "samples": ["--builtin", str(pair), "--page", str(page), "--prompts", "8"],
    }


if __name__ == "__main__":
    name, *rest = sys.argv[1:] or ["help"]
    if name == "all":
        everything(rest)
    elif module := (STAGES | EXTRA_STAGES).get(name):
        run(module, rest)
    elif name in ("help", "-h", "--help"):
        print(__doc__)
    else:
        sys.exit(f"{__doc__}\nThere is no stage '{name}'.")
