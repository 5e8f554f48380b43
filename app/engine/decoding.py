"""One whole answer as tokens and numbers, for commands that compare answers. Decodes no text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlx_spec.stats import Stats
from mlx_spec.types import Options

if TYPE_CHECKING:
    from mlx_spec import Engine


@dataclass(frozen=True, slots=True)
class Decoded:
    """An answer's tokens, a stop token included, and its numbers."""

    tokens: tuple[int, ...]
    stats: Stats


def decode(engine: "Engine", prompt: Sequence[int], options: Options) -> Decoded:
    """Read an answer to its end."""
    rounds = list(engine.generate(prompt, options))
    return Decoded(tuple(t for r in rounds for t in r.tokens), engine.stats(rounds))
