"""Trains a draft of the built-in draft's shape on unrelated text: Python's standard library.

Not shipped. `make bench-peers` uses it to show the cost of a bad draft: it has the target's tokenizer, but
its drafts are nearly always rejected.
"""

import argparse
import random
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from models.paths import builtin_folder
from train_builtin.export import export
from train_builtin.network import DRAFT, Network
from train_builtin.optimiser import Cycle, descend, make_optimisers, set_rate
from train_builtin.precision import autocast

STEPS, DECAY, SEED = 120, 60, 3
ROWS, LENGTH = 16, 128
ABOUT = "A draft that does not fit the built-in target of mlx-spec, for measurements: see train_builtin."


def sources() -> list[Path]:
    """The source files, in a fixed order."""
    return sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))


def windows(tokenizer: Tokenizer, seed: int) -> Iterator[torch.Tensor]:
    """An endless stream of batches of ids, (ROWS, LENGTH + 1); rows start anywhere in a random file."""
    rng = random.Random(f"other text {seed}")
    files = sources()
    while True:
        rows: list[list[int]] = []
        while len(rows) < ROWS:
            text = rng.choice(files).read_text(encoding="utf-8", errors="replace")
            start = rng.randrange(max(1, len(text) - 8 * LENGTH))
            ids = tokenizer.encode(text[start : start + 8 * LENGTH]).ids[: LENGTH + 1]
            if len(ids) == LENGTH + 1:
                rows.append(ids)
        yield torch.tensor(rows)


def train(steps: int, decay: int, seed: int, threads: int) -> Network:
    """The trained network; prints its loss every 20 steps."""
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    tokenizer = Tokenizer.from_file(str(builtin_folder() / "draft" / "tokenizer.json"))
    network = Network(DRAFT)
    optimisers = make_optimisers(network, matrix_rate=0.004, other_rate=0.003)
    start = time.monotonic()
    for step, ids in zip(range(steps), windows(tokenizer, seed), strict=False):
        set_rate(optimisers, step, (Cycle(steps, decay, peak=1.0),), warm_up=10)
        with autocast():
            logits = network(ids[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())
        descend(network, optimisers, loss)
        if (step + 1) % 20 == 0 or step + 1 == steps:
            print(f"step {step + 1} loss {loss.item():.3f} {time.monotonic() - start:.0f} s", flush=True)
    return network


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m train_builtin other_draft")
    parser.add_argument("--out", type=Path, default=Path("build/train/other-draft"))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--decay", type=int, default=DECAY)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    network = train(options.steps, options.decay, options.seed, options.threads)
    size = export(network, ABOUT, builtin_folder() / "draft", options.out)
    print(f"{options.out}: {size:,} bytes", flush=True)
