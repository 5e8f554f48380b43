"""The stage for the GPU: writes chats for some seconds, then trains the head on them for some more."""

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from train_head.network import Head, Target
from train_head.writer import ANSWERED, Prompts, Rows, Writer

STEPS = 5
"""Draft steps that are unrolled."""
LATER = 0.8
"""Weight of each step relative to the step before."""
GIVEN = 0.2
"""Weight of tokens of prompts."""
MUON_RATE, ADAM_RATE = 7e-3, 7e-4
WARM = 40
"""Steps in which the rates rise."""
FLAT = 0.5
"""Share of the time at the full rates, before they fall to zero."""
HELD_OUT = 96
"""Rows."""
AGAIN, FOLLOWED = 0.12, 0.18
"""Shares of prompts that go on in the same chat, and that a short second question follows."""
OWN = 0.2
"""Prompts about its own answers, by others."""
LATEST = 40_000
"""Answers that such prompts are about."""


def main(arguments: list[str]) -> None:
    """The stage `learn`."""
    parser = argparse.ArgumentParser(prog="python -m train_head learn")
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=1536, help="written at once")
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=12, help="rows learnt from at once")
    parser.add_argument("--write", type=float, default=165.0, help="seconds")
    parser.add_argument("--learn", type=float, default=400.0, help="seconds")
    given = parser.parse_args(arguments)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    target = Target(given.work, device, torch.bfloat16 if device == "cuda" else torch.float32)
    chats = Chats(dict(np.load(given.work / "prompts.npz")))
    begun = time.monotonic()
    parts: list[Rows] = []
    writer = Writer(target, given.rows, given.length, chats.lists["answer"].tolist(), chats.turn, device)
    while not parts or time.monotonic() - begun < given.write:
        parts.append(writer.write(chats.prompts(5 * given.rows), chats.draw))
        chats.heard(parts[-1])
        print(
            f"{time.monotonic() - begun:.0f} s: {given.rows * given.length * len(parts):,} tokens", flush=True
        )
    del writer
    rows = Rows(*(torch.cat(each) for each in zip(*parts, strict=True)))
    head = Head(given.work / "head.safetensors", target, device)
    learner = Learner(head, rows, given.batch)
    for said in learner.learn(given.learn):
        print(said, flush=True)
        weights = {k.replace("/", "."): w.detach().cpu().numpy() for k, w in head.weights.items()}
        np.savez(given.work / "head.npz", **weights)


class Chats:
    """The prompts of `prepare`, and new ones about the target's own answers."""

    def __init__(self, lists: dict[str, np.ndarray]):
        self.lists, self.draw, self.at = lists, np.random.default_rng(0), 0
        self.turn = int(lists["begin"][0])
        self.own: list[np.ndarray] = []

    def _of(self, name: str, i: int) -> np.ndarray:
        starts = self.lists[f"{name}_starts"]
        return self.lists[name][starts[i] : starts[i + 1]]

    def _some(self, name: str) -> np.ndarray:
        return self._of(name, self.draw.integers(len(self.lists[f"{name}_starts"]) - 1))

    def prompts(self, count: int) -> Prompts:
        """The next ones."""
        begin, again, answer = (self.lists[name] for name in ("begin", "again", "answer"))
        parts, on, fresh = [], [], []

        def add(words: np.ndarray, written_on: bool, new: bool) -> None:
            parts.append(np.concatenate([begin if new else again, words, *([] if written_on else [answer])]))
            on.append(written_on)
            fresh.append(new)

        for _ in range(count):
            if self.own and self.draw.random() < OWN:
                own = self.own[self.draw.integers(len(self.own))]
                add(np.concatenate([self._some("task"), own]), False, True)
            else:
                i = self.at = (self.at + 1) % len(self.lists["written_on"])
                add(self._of("prompt", i), bool(self.lists["written_on"][i]), self.draw.random() > AGAIN)
            if self.draw.random() < FOLLOWED:
                add(self._some("follow"), False, False)
        starts = np.cumsum([0, *map(len, parts)])
        return Prompts(np.concatenate(parts), starts, np.array(on), np.array(fresh))

    def heard(self, rows: Rows) -> None:
        """Keep the answers that have ended."""
        for tokens, roles in zip(rows.tokens.cpu().numpy(), rows.roles.cpu().numpy(), strict=True):
            edges = np.flatnonzero(np.diff(np.pad(roles == ANSWERED, 1).astype(np.int8)))
            spans = zip(edges[::2], edges[1::2], strict=True)
            self.own += [tokens[a : b - 1] for a, b in spans if b - a > 40 and b < len(tokens)]
        self.own = self.own[-LATEST:]


class CrossEntropy(torch.autograd.Function):
    """Of logits `[n, vocab]` against probabilities, weighted; a sum. Keeps no float32 copies."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, probs: Tensor, weights: Tensor) -> Tensor:
        """See the class."""
        total = torch.logsumexp(logits.float(), -1)
        ctx.save_for_backward(logits, probs, weights, total)
        return ((total - torch.linalg.vecdot(logits, probs).float()) * weights).sum()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        """See the class."""
        logits, probs, weights, total = ctx.saved_tensors
        slope = (logits.float() - total[:, None]).exp_().sub_(probs).mul_((weights * grads[0])[:, None])
        return slope.to(logits.dtype), None, None


def later(x: Tensor, s: int) -> Tensor:
    """What row t is to guess in step s is at t + 1 + s."""
    return F.pad(x[:, 1 + s :], (0, 1 + s))


class Learner:
    """Trains the head: matrices by Muon (Jordan et al. 2024), the rest by AdamW."""

    def __init__(self, head: Head, rows: Rows, batch: int):
        self.head, self.rows, self.batch, self.target = head, rows, batch, head.target
        self.device = rows.tokens.device
        self.places = torch.full((len(self.target.embeddings),), -1, device=self.device)
        self.places[head.tokens] = torch.arange(len(head.tokens), device=self.device)
        self.cos, self.sin = self.target.rope(rows.tokens.shape[1] + STEPS, str(self.device))
        count = len(rows.tokens)
        self.free = count - min(HELD_OUT, count // 8 + 1)
        self.matrices = head.matrices()
        self.rest = [w for w in head.parameters() if all(w is not m for m in self.matrices)]
        self.speeds = [torch.zeros_like(w) for w in self.matrices]
        self.adam = torch.optim.AdamW(self.rest, lr=ADAM_RATE, betas=(0.9, 0.95), weight_decay=0.0)

    def learn(self, seconds: float) -> Iterator[str]:
        """Train for so long; yields reports, the last one at the end."""
        begun, step, order = time.monotonic(), 0, list[Tensor]()
        yield f"acceptance before: {self.acceptance()}"
        while (gone := (time.monotonic() - begun) / seconds) < 1:
            order = order or list(torch.randperm(self.free, device=self.device).split(self.batch))
            rate = min(1.0, (step + 1) / WARM, (1 - gone) / (1 - FLAT))
            loss, step = self._update(order.pop(), rate), step + 1
            if step % 1000 == 0:
                yield f"{step} steps, loss {loss.item():.3f}, acceptance {self.acceptance()}"
        yield f"{step} steps of {self.batch} rows, acceptance {self.acceptance()}"

    def _update(self, pick: Tensor, rate: float) -> Tensor:
        loss = self._loss(pick)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.head.parameters(), 1.0)
        with torch.no_grad():
            for w, speed in zip(self.matrices, self.speeds, strict=True):
                speed.lerp_(w.grad, 0.05)
                tall = max(1.0, w.shape[0] / w.shape[1]) ** 0.5
                w.sub_(_orthogonal(torch.lerp(speed, w.grad, 0.05)) * (MUON_RATE * rate * tall))
        self.adam.param_groups[0]["lr"] = ADAM_RATE * rate
        self.adam.step()
        self.head.zero_grad()
        return loss.detach()

    def _guesses(self, pick: Tensor) -> tuple[Rows, list[Tensor], Tensor]:
        rows = Rows(*(each[pick] for each in self.rows))
        place = torch.arange(rows.tokens.shape[1], device=self.device)
        seen = (place <= place[:, None]) & (place >= rows.begins[..., None])
        args = seen[:, None], self.cos, self.sin
        states, last = self.target.read(rows.tokens, args[0], *(x[: len(place)] for x in args[1:]))
        return rows, self.head(rows.tokens, states, *args, STEPS), last

    def _inside(self, rows: Rows, s: int) -> Tensor:
        """Where the token to guess is in the same chat."""
        place = torch.arange(rows.tokens.shape[1], device=self.device)
        return (later(rows.begins, s) <= place) & (place + 1 + s < len(place) - 1)

    def _loss(self, pick: Tensor) -> Tensor:
        rows, guesses, last = self._guesses(pick)
        with torch.no_grad():
            probs = (last @ self.target.embeddings[self.head.tokens].T).float().softmax(-1).to(last.dtype)
        answered = F.pad(rows.roles[:, 1:], (0, 1)) == ANSWERED
        weights = torch.where(answered, 1.0, GIVEN) * (self.places[rows.best] >= 0)
        total = torch.zeros((), device=self.device)
        for s, guess in enumerate(guesses):
            weight = (later(weights, s) * self._inside(rows, s)).float()
            wanted = F.pad(probs[:, 1 + s :], (0, 0, 0, 1 + s))
            each = CrossEntropy.apply(guess.flatten(0, 1), wanted.flatten(0, 1), weight.flatten())
            total = total + LATER**s * each / weight.sum().clamp(min=1)
        return total / sum(LATER**s for s in range(STEPS))

    @torch.no_grad()
    def acceptance(self) -> list[float]:
        """Rates at which the first 1, 2, ... tokens are all accepted in greedy answers that are held out."""
        right, count = torch.zeros(STEPS, device=self.device), 0
        for pick in torch.arange(self.free, len(self.rows.tokens), device=self.device).split(self.batch):
            rows, guesses, _ = self._guesses(pick)
            greedy = (F.pad(rows.roles[:, 1:], (0, 1)) == ANSWERED) & (rows.temperatures == 0)
            used = torch.ones_like(greedy)
            for s in range(STEPS):
                used = used & later(greedy, s) & self._inside(rows, s)
            count += used.sum()
            for s, guess in enumerate(guesses):
                used = used & (guess.argmax(-1) == later(self.places[rows.best], s))
                right[s] += used.sum()
        return (right / count).tolist()


def _orthogonal(x: Tensor, coefficients: Sequence[float] = (3.4445, -4.7750, 2.0315)) -> Tensor:
    a, b, c = coefficients
    wide = x if x.shape[0] <= x.shape[1] else x.T
    wide = wide / (wide.norm() + 1e-7)
    for _ in range(5):
        square = wide @ wide.T
        wide = a * wide + (b * square + c * square @ square) @ wide
    return wide if x.shape[0] <= x.shape[1] else wide.T
