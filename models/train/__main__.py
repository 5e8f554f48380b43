"""`python -m models.train STAGE`: tokenizer, target, draft, export, samples, or all of them in this order.

`all --quick` takes a few steps of each in minutes, into build/train-quick, and leaves the shipped pair alone.
Beside them: other_draft, a draft on other text that only measurements use.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

# Threads that wait for each other sleep: spinning waits cost a tenfold on a machine that does other work too.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def tokenizer(arguments: list[str]) -> None:
    from models.train.tokenizer import save_tokenizer, train_tokenizer

    folder = Path(arguments[0] if arguments else "build/train/tokenizer")
    trained = train_tokenizer(seed=0)
    save_tokenizer(trained, folder)
    print(f"{trained.get_vocab_size()} tokens in {folder}")


def target(arguments: list[str]) -> None:
    from models.train.train_target import main

    main(arguments)


def draft(arguments: list[str]) -> None:
    from models.train.distill_draft import main

    main(arguments)


def export(arguments: list[str]) -> None:
    from models.train.export import main

    main(arguments)


def samples(arguments: list[str]) -> None:
    from models.train.samples import main

    main(arguments)


def other_draft(arguments: list[str]) -> None:
    from models.train.other_draft import main

    main(arguments)


STAGES = {stage.__name__: stage for stage in (tokenizer, target, draft, export, samples)}
QUICK_FOLDER = Path("build/train-quick")


def everything(arguments: list[str]) -> None:
    """All stages in their order."""
    parser = argparse.ArgumentParser(prog="python -m models.train all")
    parser.add_argument("--quick", action="store_true", help=f"a few steps of each, into {QUICK_FOLDER}")
    given = quick_arguments() if parser.parse_args(arguments).quick else {}
    for name, stage in STAGES.items():
        stage(given.get(name, []))


def quick_arguments() -> dict[str, list[str]]:
    """By stage. What an earlier quick run left is removed: stages go on from their checkpoints."""
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
    elif name in STAGES:
        STAGES[name](rest)
    elif name == other_draft.__name__:
        other_draft(rest)
    else:
        sys.exit(f"{__doc__}\nno stage {name!r}")
