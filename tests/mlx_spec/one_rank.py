"""A rank of `test_shared.py`, a process of its own: `python -m tests.mlx_spec.one_rank [COMMAND...]`.

Rank 0 prints what was written. The command is run after it: to start processes takes as long as all else.
"""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Any

import mlx.core as mx

from mlx_spec import rows as rows_module
from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.drafters.lookahead import LookaheadDrafter
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.policy.policy import Policy
from mlx_spec.ranks import Ranks
from mlx_spec.shared import SharedEngine
from mlx_spec.types import Options
from tests.mlx_spec.architectures import nearly
from tests.mlx_spec.tiny_models import tiny_llama, tokens

PROMPT = [5, 17, 42, 9, 5, 17]
LONG = [*range(1, 81)] * 2
"""In three pieces."""
PROMPTS = PROMPT, PROMPT[:3], LONG
TOKENS, LIMIT = 12, 256


def model(noise: float = 0.0) -> Any:
    """The same in every process; with heads for four ranks."""
    return nearly(lambda seed: tiny_llama(seed, heads=8), 3, noise)


class Moody(Policy):
    """Plans at random, differently on each rank, as if their clocks differed."""

    def __init__(self, rank: int):
        self._random = Random(rank)

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        place, depth = self._random.randint(0, len(candidates)), self._random.randint(1, 4)
        return (candidates[place - 1], depth) if place else (NO_CANDIDATE, 0)


@dataclass(frozen=True, slots=True)
class Wider(Options):
    """A program's options: other ranks take the engine's."""

    more: str = ""


def options(temperature: float, length: int | None, drafter: str = "auto") -> Options:
    return Wider(max_tokens=TOKENS, temperature=temperature, seed=7, draft_length=length, drafter=drafter)


class Left(Exception): ...


def leave(done: int, total: int) -> None:
    raise Left


def read_at_another_pace(ranks: Ranks, engine: SharedEngine) -> None:
    """Prefill is slower on later ranks."""
    read = engine.target.read

    def timed(*given: Any) -> None:
        read(*given)
        time.sleep(0.005 * ranks.rank)

    engine.target.read = timed  # type: ignore[method-assign]


def main() -> None:
    rows_module.PREFILL_CHUNK = 64
    ranks = Ranks(mx.distributed.init(strict=True))
    target = model()
    target.shard(ranks.group)
    drafters = [LookupDrafter(), LookaheadDrafter(), ModelDrafter(model(noise=0.02), LIMIT)]
    engine = SharedEngine(target, drafters, ranks, context_limit=LIMIT)
    engine.controller = Moody(ranks.rank)  # type: ignore[assignment]
    read_at_another_pace(ranks, engine)
    if not ranks.leads:
        engine.follow()
        return
    written, accepted = {}, 0

    def write(
        name: str, prompt: list[int], temperature: float, length: int | None, drafter: str = "auto"
    ) -> None:
        nonlocal accepted
        documents = [[*PROMPT, *written.get("plain", ())]]
        played = list(engine.generate(prompt, options(temperature, length, drafter), documents=documents))
        written[name] = tokens(played)
        accepted += sum(each.accepted for each in played)

    next(engine.generate(PROMPT[1:], options(0.8, 3)))  # and no further
    with suppress(Left):
        next(engine.generate(LONG, options(0, 0), progress=leave))
    write("plain", PROMPT, 0.0, 0)
    write("drafted", PROMPT, 0.0, 3)
    for _ in range(2):
        engine.forget_drafts()
        write("drafted afresh", PROMPT, 0.0, 3, "lookahead")
    rows, texts = engine.rows(), []

    def step() -> None:
        nonlocal accepted
        accepted += sum(played.accepted for _, played in rows.step())

    for prompt in PROMPTS:
        texts.append(rows.add(prompt, options(0.8, None)))
        step()
        step()
    rows.cancel(rows.add(PROMPT, options(0.8, None)))
    while rows.busy:
        step()
    for place, prompt in enumerate(PROMPTS):
        write(f"alone {place}", prompt, 0.8, 0)
        written[f"beside others {place}"] = texts[place].tokens[len(prompt) :]
    engine.forget()
    scores = engine.next_scores(PROMPT, Options())
    ranks.end()
    print(json.dumps({"written": written, "accepted": accepted, "scores": scores.tolist()}), flush=True)


if __name__ == "__main__":
    main()
    if command := sys.argv[1:]:
        from app.cli import main as run

        sys.exit(run(command))
