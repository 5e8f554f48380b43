"""`python -m models.train STAGE`: tokenizer, target, draft, export, samples, or all of them in this order.

Beside them: other_draft, a draft on other text that only measurements use.
"""

import os
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

if __name__ == "__main__":
    name, *rest = sys.argv[1:] or ["help"]
    if name == "all":
        for stage in STAGES.values():
            stage([])
    elif name in STAGES:
        STAGES[name](rest)
    elif name == other_draft.__name__:
        other_draft(rest)
    else:
        sys.exit(f"{__doc__}\nno stage {name!r}")
