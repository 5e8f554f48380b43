"""What rounds cost here: the engine's own rounds, timed at every length on a made-up text."""

import time
from collections.abc import Iterator
from statistics import median
from typing import TYPE_CHECKING

from mlx_spec.cached_model import Progress
from mlx_spec.controller import Costs
from mlx_spec.types import Options

if TYPE_CHECKING:
    from mlx_spec.engine import Engine

LENGTHS = (3, 1, 2, 5, 8, 4, 6, 7)
"""Draft lengths in the order of measuring: the usual ones first."""
PERIOD, REPEATS = 24, 4
"""The text: so many different tokens, so often. Lookup finds its ending at once."""
TIMED_ROUNDS = 5
"""Rounds that count; those before them in a run warm up."""


def measure_costs(engine: "Engine", seconds: float, progress: Progress | None = None) -> Costs:
    """Plain rounds, then each drafter's at each length, until `seconds` are over."""
    deadline = time.perf_counter() + seconds
    drafters = ["lookup"] if engine.model_drafter is None else ["model", "lookup"]
    plain = _pipelined(engine, "none", 0)
    rounds: dict[str, dict[int, float]] = {name: {} for name in drafters}
    work = [(name, k) for k in LENGTHS for name in drafters]
    for done, (name, k) in enumerate(work):
        if time.perf_counter() > deadline and all(rounds.values()):
            break
        rounds[name][k] = _pipelined(engine, name, k) if name == "model" else _waiting(engine, k)
        if progress:
            progress(done + 1, len(work))
    engine.forget()
    return Costs(plain, rounds)


def _pipelined(engine: "Engine", drafter: str, k: int) -> float:
    """Seconds of a round in a run of rounds of one kind, the next always in flight."""
    options = Options(drafter=drafter, draft_length=k, max_tokens=(k + 1) * (TIMED_ROUNDS + 4))  # type: ignore[arg-type]
    found = []
    for number, read in enumerate(engine.generate(_text(engine), options)):
        if number > 1 and len(read.drafted) == k and read.draft_seconds is None:
            found.append(read.seconds)
        if len(found) == TIMED_ROUNDS:
            break
    return median(found)


def _waiting(engine: "Engine", k: int) -> float:
    """Seconds of a lookup round: nothing is in flight, so one alone is like any."""
    options = Options(drafter="lookup", draft_length=k, max_tokens=k + 2)
    return median(list(_second_rounds(engine, options))[1:])


def _second_rounds(engine: "Engine", options: Options) -> Iterator[float]:
    for _ in range(TIMED_ROUNDS):
        rounds = engine.generate(_text(engine), options)
        next(rounds)  # nobody drafts the first
        yield next(rounds).seconds


def _text(engine: "Engine") -> list[int]:
    return [token % engine.target.vocab for token in range(1, PERIOD + 1)] * REPEATS
