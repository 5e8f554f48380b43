"""One prompt's runs with and without drafting. Plain values, whoever ran them."""

from dataclasses import dataclass

from app.compare.bench.prompts import BenchPrompt
from app.engine.difference import Difference
from mlx_spec.stats import Stats


@dataclass(frozen=True, slots=True)
class Measured:
    """One prompt, measured equally often each way."""

    prompt: BenchPrompt
    plain: tuple[Stats, ...]
    drafted: tuple[Stats, ...]
    tokens: int
    """Of the plain answer."""
    difference: Difference | None
    """The first repeat whose two answers were not the same."""
