"""Distils the draft from the target.

The draft learns the target's full distribution at every position, mostly on the target's own answers, partly
on corpus text. It starts from the target's embedding.
"""

import argparse
import itertools
import math
import time
from collections.abc import Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from train_builtin.answers import as_stream, write_answers
from train_builtin.corpus import training_conversations
from train_builtin.network import DRAFT, Network
from train_builtin.optimiser import Cycle, descend, make_optimisers, set_rate
from train_builtin.precision import autocast
from train_builtin.train_target import load, save, store
from train_builtin.windows import Weighted, encode, windows

STEPS = 800
DECAY = 400
SEED = 2
ANSWERS = 4800
ROWS, LENGTH = 16, 256
CORPUS_SHARE = 0.25
HARD = 0.1
"""Weight of the cross entropy. Small: the draft should learn all of the target's likely tokens."""


def mixed(tokenizer: Tokenizer, answers: list[tuple[int, list[int]]], seed: int) -> Iterator[Weighted]:
    """The target's answers, mixed with `CORPUS_SHARE` of corpus text."""
    corpus = (encode(tokenizer, drawn.messages()) for drawn in training_conversations(seed))
    own = as_stream(answers, seed) if answers else corpus
    for i in itertools.count():
        yield next(corpus) if i % round(1 / CORPUS_SHARE) == 0 else next(own)


def distillation_loss(
    draft: torch.Tensor, target: torch.Tensor, weights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Weighted KL(target || draft) plus `HARD` times the cross entropy on the target's most likely token; and
    the share of equal most likely tokens. Logits are (batch, seq, vocab)."""
    logq = F.log_softmax(draft.float().flatten(0, 1), -1)
    logp = F.log_softmax(target.float().flatten(0, 1), -1)
    best = logp.argmax(-1)
    kl = (logp.exp() * (logp - logq)).sum(-1)
    hard = -logq.gather(1, best[:, None])[:, 0]
    flat = weights.flatten()
    equal = (logq.argmax(-1) == best).float()
    return ((kl + HARD * hard) * flat).sum() / flat.sum(), (equal * flat).sum() / flat.sum()


def distil(work: Path, steps: int, decay: int, seed: int, threads: int, count: int) -> None:
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    tokenizer = Tokenizer.from_file(str(work / "tokenizer" / "tokenizer.json"))
    target, _ = load(work / "target.pt")
    target.eval().requires_grad_(False)
    stored = work / "answers.pt"
    if stored.exists():
        answers = torch.load(stored, weights_only=True)
    else:
        answers = write_answers(target, tokenizer, seed, count) if count else []
        if answers:
            store(stored, answers)
    draft = Network(DRAFT)
    draft.embed_tokens.weight.data.copy_(target.embed_tokens.weight)
    cycles = (Cycle(steps, decay, peak=1.0),)
    if (work / "draft.pt").exists():
        draft, _ = load(work / "draft.pt")
        cycles = (Cycle(steps, decay, peak=0.4),)
    optimisers = make_optimisers(draft, matrix_rate=0.004, other_rate=0.002)
    stream = mixed(tokenizer, answers, seed)
    parameters = sum(p.numel() for p in draft.parameters())
    print(f"draft: {parameters:,} parameters, {len(answers)} answers", flush=True)
    smooth, agree, start = math.nan, math.nan, time.monotonic()
    for step in range(steps):
        ids, weights = windows(stream, ROWS, LENGTH + 1)
        ids, weights = ids[:, :-1], weights[:, 1:]
        set_rate(optimisers, step, cycles, warm_up=40)
        with autocast():
            with torch.no_grad():
                goal = target(ids)
            logits = draft(ids)
        loss, equal = distillation_loss(logits, goal, weights)
        descend(draft, optimisers, loss)
        smooth = loss.item() if math.isnan(smooth) else 0.95 * smooth + 0.05 * loss.item()
        agree = equal.item() if math.isnan(agree) else 0.95 * agree + 0.05 * equal.item()
        done = step + 1
        if done % 50 == 0 or done == steps:
            seconds = time.monotonic() - start
            speed = done * ROWS * LENGTH / seconds
            print(
                f"step {done} loss {smooth:.3f} equal {agree:.3f} {seconds:.0f} s {speed:.0f} tokens/s",
                flush=True,
            )
            save(work / "draft.pt", draft, step=done, seconds=seconds)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m train_builtin draft")
    parser.add_argument("--work", type=Path, default=Path("build/train"))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--decay", type=int, default=DECAY)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--answers", type=int, default=ANSWERS, help="how many answers the target writes")
    options = parser.parse_args(arguments)
    distil(options.work, options.steps, options.decay, options.seed, options.threads, options.answers)
