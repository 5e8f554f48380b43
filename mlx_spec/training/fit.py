"""Trains a drafter on its target's outputs, resumable after any stop.

Matrices are trained by Muon (Jordan et al. 2024), which learns more from few texts than AdamW; the rest, and
the rows of tokens, by AdamW.
"""

import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optimizers
import numpy as np
from mlx.utils import tree_flatten, tree_unflatten

from mlx_spec.training import study, unroll
from mlx_spec.training.study import Study
from mlx_spec.training.unroll import Guesses

STEPS = 3
"""Draft steps that are unrolled: each costs as much as the first, and later tokens are seldom reached."""
ROWS = 480
"""Positions of a batch: with few texts many small steps learn more than few large ones."""
MUON_RATE, ADAM_RATE = 1e-2, 1e-3
"""Learning rates after warming up."""
LAST = 0.03
"""Their share at the end of the cosine schedule."""
WARM = 0.05
"""Share of the training in which the learning rate rises."""
BETAS = [0.9, 0.95]
LONGEST_GRADIENT = 1.0
FILES = 2
"""Files whose texts are shuffled together."""
DEPTHS = 4
"""Draft length at which acceptance is measured."""


@dataclass
class Progress:
    """Progress of a training."""

    tokens: int = 0
    """Positions learnt from, repeated ones included."""
    files: int = 0
    """Groups of files read."""
    loss: float = math.nan
    """Of the last step."""
    seconds: float = field(default=0.0, compare=False)
    """Of learning."""


@dataclass(frozen=True, slots=True)
class Learner:
    """The drafter to train."""

    module: nn.Module
    tokens: Sequence[int]
    """The target's id of each token of its vocabulary."""
    vocab: int
    """Size of the target's vocabulary."""
    guesses: Callable[["Batch", int], Guesses]
    """Its guesses for a batch, by number of draft steps."""
    steps: int = STEPS
    """Draft steps that it is trained for."""
    rate: float = 1.0
    """Share of the learning rates: less for what has learnt much already."""


class Fit:
    """The training of one drafter.

    Args:
        files: of `study.write`.
        tokens: positions to learn from in all.
        state: file of weights, optimizer and progress; if it exists, training resumes from it.
    """

    def __init__(self, learner: Learner, files: Sequence[Path], tokens: int, state: Path):
        self.learner, self.files, self.tokens, self.state = learner, list(files), tokens, state
        self.progress = Progress()
        adam = optimizers.AdamW(ADAM_RATE, betas=BETAS, weight_decay=0.0)
        self._optimizer = optimizers.MultiOptimizer(
            [optimizers.Muon(MUON_RATE, weight_decay=0.0), adam], [_is_matrix]
        )
        self._optimizer.init(learner.module.trainable_parameters())
        self.table = places(learner.tokens, learner.vocab)
        self._gradient = nn.value_and_grad(learner.module, self._loss)
        if state.exists():
            self._restore()

    def run(self, report: Callable[[Progress], None]) -> None:
        """Train until `tokens` positions were seen. `report`, called after each step, may change `tokens`,
        and raise to stop: the steps since the last group of files are lost then."""
        while self.progress.tokens < self.tokens:
            for _ in self._read_group():
                report(self.progress)
                if self.progress.tokens >= self.tokens:
                    break
            self._save()

    def acceptance(self, texts: Sequence[Study]) -> list[float]:
        """Rates at which the first 1, 2, ... drafted tokens are all accepted at temperature 0, on texts that
        are held out; empty if these have no greedy choices of the target."""
        right, drafts = np.zeros(DEPTHS), 0
        for several in _batches(texts, random.Random(0)):
            batch = Batch(several, self.table)
            guesses = self.learner.guesses(batch, DEPTHS)
            found, count = unroll.accepted(guesses, batch.labels[..., 0], batch.greedy)
            right, drafts = right + found, drafts + count
        return (right / drafts).tolist() if drafts else []

    def learn(self, batch: "Batch") -> float:
        """One step; the loss before it."""
        for optimizer, rate in zip(self._optimizer.optimizers, (MUON_RATE, ADAM_RATE), strict=True):
            optimizer.learning_rate = rate * self.rate * self.learner.rate
        loss, gradient = self._gradient(batch)
        gradient, _ = optimizers.clip_grad_norm(gradient, LONGEST_GRADIENT)
        self._optimizer.update(self.learner.module, gradient)
        mx.eval(loss, self.learner.module.parameters(), self._optimizer.state)
        return loss.item()

    def _read_group(self) -> Iterator[None]:
        progress = self.progress
        groups = -(-len(self.files) // FILES)
        epoch, place = divmod(progress.files, groups)
        order = list(self.files)
        random.Random(epoch).shuffle(order)
        texts = [each for file in order[place * FILES :][:FILES] for each in parted(file)[0]]
        for several in _batches(texts, random.Random(progress.files)):
            begun = time.perf_counter()
            batch = Batch(several, self.table)
            progress.loss = self.learn(batch)
            progress.tokens += batch.count
            progress.seconds += time.perf_counter() - begun
            yield
        progress.files += 1
        mx.clear_cache()

    def _loss(self, batch: "Batch") -> mx.array:
        guesses = self.learner.guesses(batch, self.learner.steps)
        return unroll.loss(guesses, mx.maximum(batch.labels, 0), batch.probs, batch.counted)

    @property
    def rate(self) -> float:
        """Share of the learning rates at this step."""
        done = min(1.0, self.progress.tokens / self.tokens)
        if done < WARM:
            return done / WARM * 0.98 + 0.02
        return LAST + (1 - LAST) * (1 + math.cos(math.pi * done)) / 2

    def _save(self) -> None:
        weights, tokens = self.learner.module.trainable_parameters(), mx.array(list(self.learner.tokens))
        parts = {"module": weights, "optimizer": self._optimizer.state, "tokens": tokens}
        arrays: dict[str, mx.array] = dict(tree_flatten(parts))  # type: ignore[arg-type]
        study.save_whole(self.state, arrays, {"progress": json.dumps(asdict(self.progress))})

    def _restore(self) -> None:
        arrays, notes = mx.load(str(self.state), return_metadata=True)  # type: ignore[misc]
        self.progress = Progress(**json.loads(notes["progress"]))  # type: ignore[index, arg-type]
        parts: dict[str, Any] = tree_unflatten(list(arrays.items()))  # type: ignore[union-attr, assignment]
        self.learner.module.update(parts["module"])
        self._optimizer.state = parts["optimizer"]


class Batch:
    """Texts side by side, the shorter ones padded.

    Args:
        table: `[vocab]`, the draft's id of each token, -1 for those it does not know.
    """

    def __init__(self, texts: Sequence[Study], table: mx.array):
        rows = max(len(text.tokens) for text in texts)
        lengths = mx.array([len(text.tokens) for text in texts])
        real = mx.arange(rows)[None] < lengths[:, None]
        self.count = sum(len(text.tokens) for text in texts)
        self.tokens = _stack([text.tokens for text in texts], rows)
        self.states = _stack([text.states.astype(mx.float32) for text in texts], rows)
        self.labels = table[_stack([text.likeliest for text in texts], rows)]
        """`[b, rows, likeliest]`, -1 for tokens the draft does not know."""
        known = self.labels >= 0
        probs = mx.where(known, mx.exp(_stack([text.logprobs for text in texts], rows)), 0)
        self.probs = probs / mx.maximum(probs.sum(axis=-1, keepdims=True), 1e-9)
        self.counted = real & known[..., 0]
        self.greedy = real & _stack([text.greedy for text in texts], rows)


def known_tokens(state: Path) -> list[int]:
    """The target's id of each token of the vocabulary that the weights in a state belong to."""
    return mx.load(str(state))["tokens"].tolist()  # type: ignore[index, return-value]


def parted(file: Path) -> tuple[list[Study], list[Study]]:
    """The texts of a file to learn from, and the first greedy one, which is held out if it is not alone."""
    texts = list(study.read(file))
    greedy = (i for i, text in enumerate(texts) if len(texts) > 1 and text.greedy.any())
    held = next(greedy, len(texts))
    return texts[:held] + texts[held + 1 :], texts[held : held + 1]


def _batches(texts: Sequence[Study], order: random.Random) -> Iterator[list[Study]]:
    """Texts of about one length together, in a random order."""
    found: list[list[Study]] = []
    for text in sorted(texts, key=lambda text: len(text.tokens)):
        if not found or (len(found[-1]) + 1) * len(text.tokens) > ROWS:
            found.append([])
        found[-1].append(text)
    order.shuffle(found)
    yield from found


def _stack(arrays: Sequence[mx.array], rows: int) -> mx.array:
    return mx.stack([mx.pad(x, [(0, rows - len(x)), *[(0, 0)] * (x.ndim - 1)]) for x in arrays])


def _is_matrix(path: str, weight: mx.array) -> bool:
    """Matrices with a row per token are not: their rows learn independently."""
    return weight.ndim == 2 and not any(name in path for name in ("lm_head", "embed_tokens", "wte"))


def places(tokens: Sequence[int], vocab: int) -> mx.array:
    table = np.full(vocab, -1, np.int32)
    table[list(tokens)] = np.arange(len(tokens))
    return mx.array(table)
