"""A target's outputs over texts, kept on disk: drafters are trained on them without the target."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import mlx.core as mx
from jaxtyping import Bool, Float, Int

from mlx_spec.arrays import Length, Pass, best
from mlx_spec.target.model import Model

LIKELIEST = 32
"""Next tokens that are kept of each position's distribution."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text to learn from."""

    tokens: Sequence[int]
    begin: int = 0
    """Where the target's answer begins."""
    greedy: bool = False
    """Whether the answer is the target's greedy choices."""


@dataclass(frozen=True, slots=True)
class Study:
    """The target's outputs over one text of `n` tokens."""

    tokens: Int[mx.array, " n"]
    states: Float[mx.array, "n taps_dim"]
    """Hidden states of the tapped layers, lowest first, side by side; bfloat16."""
    likeliest: Int[mx.array, "n few"]
    """The next tokens that the target finds likeliest, the best first."""
    logprobs: Float[mx.array, "n few"]
    greedy: Bool[mx.array, " n"]
    """Where the next token was the target's greedy choice."""

    @property
    def bytes_per_token(self) -> float:
        """In its file."""
        return sum(getattr(self, name).nbytes for name in NAMES) / max(1, len(self.tokens))


NAMES = [field.name for field in fields(Study)]


def study(target: Model, text: Text) -> Study:
    """One pass of the target, whose taps are those of the drafter to train."""
    ids = mx.array(list(text.tokens), mx.int32)
    output = target.forward(Pass(ids[None], Length.exact(0)))
    logits = output.logits[0].astype(mx.float32)
    likeliest = best(logits, LIKELIEST)
    logprobs = mx.take_along_axis(logits, likeliest, axis=-1) - mx.logsumexp(logits, axis=-1, keepdims=True)
    none = mx.zeros((len(ids), 0), mx.bfloat16)
    states = mx.concatenate([none, *(output.hidden[layer][0] for layer in sorted(output.hidden))], axis=-1)
    chosen = mx.pad(likeliest[:-1, 0] == ids[1:], (0, 1))
    answer = mx.arange(len(ids)) >= text.begin - 1
    greedy = chosen & answer & text.greedy
    return Study(ids, states.astype(mx.bfloat16), likeliest, logprobs, greedy)


def write(path: Path, studies: Sequence[Study]) -> None:
    """One file of several texts."""
    save_whole(path, {f"{i}.{name}": getattr(each, name) for i, each in enumerate(studies) for name in NAMES})


def save_whole(path: Path, arrays: dict[str, mx.array], notes: dict[str, str] | None = None) -> None:
    """Write a safetensors file whole or not at all, also if the power fails."""
    unfinished = path.with_suffix(".part.safetensors")
    unfinished.touch()  # its error says why nothing can be written, which MLX's does not
    mx.save_safetensors(str(unfinished), arrays, notes)
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    unfinished.replace(path)


def read(path: Path) -> Iterator[Study]:
    """The texts of a file, mapped until they are used."""
    arrays: dict[str, mx.array] = mx.load(str(path))  # type: ignore[assignment]
    for i in range(len(arrays) // len(NAMES)):
        yield Study(*(arrays[f"{i}.{name}"] for name in NAMES))
