"""Trains the target on the corpus.

`python -m train_builtin target` with the defaults reproduces the shipped weights, up to the machine's
rounding. A checkpoint is written every 50 steps, and the next run resumes from it.
"""

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from train_builtin.corpus import held_out_conversations, training_conversations
from train_builtin.mixtures import BALANCED, FINAL, LAST, LONG, LOOKING_BACK, PRACTICE, WEIGHTS
from train_builtin.network import TARGET, Network, Shape
from train_builtin.optimiser import Cycle, descend, make_optimisers, set_rate
from train_builtin.precision import autocast
from train_builtin.windows import Batch, batches, encode

STEPS = 3500
CYCLES = (
    Cycle(1600, decay=500, peak=1.0),
    Cycle(1850, decay=250, peak=0.6),
    Cycle(STEPS, decay=900, peak=0.6),
)
"""Three cycles of the learning rate: all sources, then the weak ones, then long texts."""
PHASES = {
    350: WEIGHTS,
    700: LOOKING_BACK,
    1000: BALANCED,
    1600: FINAL,
    1850: PRACTICE,
    2900: LONG,
    1_000_000: LAST,
}
"""Weights of the corpus's sources, by the step at which their phase ends."""
SEED = 1
TOKENS_PER_STEP = 4096
HELD_OUT = 128
"""Conversations for the held-out loss."""


def shapes() -> Iterator[tuple[int, int]]:
    """(rows, length) of each step's batch: short windows, with a longer one at every fourth step.

    While the rate of the first cycle falls, the longer windows have the whole context, so that long chats are
    seen too. In the last cycle every second window is longer, and every sixteenth has the whole context.
    """
    for step in itertools.count():
        length = 256
        if step >= CYCLES[1].last:
            length = 2048 if step % 16 == 15 else 512 if step % 2 else 256
        elif step % 4 == 3:
            falling = CYCLES[0].last - CYCLES[0].decay <= step < CYCLES[0].last
            length = 2048 if falling or (step >= CYCLES[0].last and step % 8 == 7) else 512
        yield TOKENS_PER_STEP // length, length


def phases(tokenizer: Tokenizer, seed: int) -> Iterator[Batch]:
    """The batches of all steps."""
    sizes, first = shapes(), 0
    for last, weights in PHASES.items():
        yield from batches(
            tokenizer, training_conversations(seed, weights), itertools.islice(sizes, last - first)
        )
        first = last


def weighted_loss(logits: torch.Tensor, goals: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Weighted mean cross entropy in nats per token."""
    losses = F.cross_entropy(logits.float().flatten(0, 1), goals.flatten(), reduction="none")
    return (losses * weights.flatten()).sum() / weights.sum()


@torch.no_grad()
def held_out_loss(network: Network, tokenizer: Tokenizer) -> float:
    """Nats per token of the assistant's answers to held-out prompts."""
    network.eval()
    total = count = 0.0
    for conversation in itertools.islice(held_out_conversations(0), HELD_OUT):
        ids, weights = encode(tokenizer, conversation.messages())
        row, kept = torch.tensor([ids]), (torch.tensor(weights[1:]) == 1.0)
        with autocast():
            logits = network(row[:, :-1])
        total += F.cross_entropy(logits[0].float(), row[0, 1:], reduction="none")[kept].sum().item()
        count += kept.sum().item()
    network.train()
    return total / count


def store(path: Path, value: object) -> None:
    """Save a value for `torch.load`, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    torch.save(value, partial)
    partial.replace(path)


def save(path: Path, network: Network, **rest: object) -> None:
    """Save a checkpoint of the network, with further state to resume from."""
    store(path, {"shape": asdict(network.shape), "weights": network.state_dict(), **rest})


def load(path: Path) -> tuple[Network, dict]:
    """The network of a checkpoint, and the whole checkpoint."""
    state = torch.load(path, weights_only=True)
    network = Network(Shape(**state["shape"]))
    network.load_state_dict(state["weights"])
    return network, state


def train(work: Path, steps: int, seed: int, threads: int, compiled: bool) -> None:
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    tokenizer = Tokenizer.from_file(str(work / "tokenizer" / "tokenizer.json"))
    path = work / "target.pt"
    network, start, seconds = Network(TARGET), 0, 0.0
    state = None
    if path.exists():
        network, state = load(path)
        start, seconds = state["step"], state["seconds"]
    optimisers = make_optimisers(network, matrix_rate=0.004, other_rate=0.003)
    if state is not None:
        for optimiser, saved in zip(optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
    forward = torch.compile(network) if compiled else network
    stream = itertools.islice(phases(tokenizer, seed), start, None)
    parameters = sum(p.numel() for p in network.parameters())
    print(f"target: {parameters:,} parameters, from step {start} to {steps}", flush=True)
    smooth, clock = math.nan, time.monotonic()
    for step, (ids, goals, weights) in zip(range(start, steps), stream, strict=False):
        set_rate(optimisers, step, CYCLES, warm_up=40)
        with autocast():
            logits = forward(ids)
        loss = weighted_loss(logits, goals, weights)
        descend(network, optimisers, loss)
        smooth = loss.item() if math.isnan(smooth) else 0.95 * smooth + 0.05 * loss.item()
        now = time.monotonic()
        seconds, clock = seconds + now - clock, now
        done = step + 1
        if done % 10 == 0:
            speed = done * TOKENS_PER_STEP / seconds
            print(f"step {done} loss {smooth:.3f} {seconds:.0f} s {speed:.0f} tokens/s", flush=True)
        if done % 50 == 0 or done == steps:
            held = held_out_loss(network, tokenizer) if done % 100 == 0 or done == steps else math.nan
            print(f"step {done} held-out {held:.3f} nats/token", flush=True)
            saved = [optimiser.state_dict() for optimiser in optimisers]
            save(path, network, optimisers=saved, step=done, seconds=seconds, held_out=held)
            clock = time.monotonic()


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m train_builtin target")
    parser.add_argument("--work", type=Path, default=Path("build/train"))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true")
    options = parser.parse_args(arguments)
    train(options.work, options.steps, options.seed, options.threads, options.compile)
