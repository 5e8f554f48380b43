"""`make bench-peers`: this engine beside mlx-lm's own two loops, on one pair, in one run.

Sides alternate prompt by prompt; a speed is tokens over wall time, prefill included, the same for
all; a ratio is taken within a repeat, and its median and range over the repeats are printed. The
last line of stdout is one JSON document.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.runtime import blas, prepare
from mlx_spec.types import Options

if TYPE_CHECKING:
    from models.load import LoadedPair

DRAFT_LENGTH = 3
PROMPTS = Path(__file__).parent.parent / "prompts" / "in_domain.jsonl"
"""What the built-in pair was trained for, in words of its own."""

Run = Callable[[Sequence[int]], tuple[int, int]]
"""Answers a prompt; returns the answer's tokens and the passes of the target they took."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A ratio of two sides that somebody may hold us to."""

    name: str
    ours: str
    peer: str
    wanted: float


CLAIMS = (
    Claim("drafted against plain, temperature 0", "drafted T=0", "plain T=0", 1.5),
    Claim("plain against mlx-lm plain, temperature 0", "plain T=0", "mlx-lm plain T=0", 0.97),
    Claim("drafted against mlx-lm speculative, temperature 0", "drafted T=0", "mlx-lm drafted T=0", 1.0),
    Claim(
        "drafted against mlx-lm speculative, temperature 0.8", "drafted T=0.8", "mlx-lm drafted T=0.8", 1.2
    ),
    Claim("drafted against plain, temperature 0.8", "drafted T=0.8", "plain T=0.8", 1.0),
    Claim("lookup and model against plain, temperature 0", "auto T=0", "plain T=0", 1.5),
)


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Runs of every prompt on every side.")] = 5,
    max_tokens: Annotated[int, typer.Option(min=2)] = 96,
    target: Annotated[
        str | None, typer.Option(help="Repository or folder; the built-in pair's if left out.")
    ] = None,
    draft: Annotated[str | None, typer.Option(help="Repository or folder.")] = None,
) -> None:
    """Measure every side and print each ratio with its range, the losing ones too."""
    prepare()
    from models.load import load
    from models.resolve import resolve

    pair = load(resolve(None, target, draft))
    prompts = _prompts(pair)
    print(f"{len(prompts)} in-domain prompts, {repeats} repeats, at most {max_tokens} tokens, BLAS: {blas()}")
    sides = _measure(_runs(pair, max_tokens), prompts, repeats)
    for name, side in sides.items():
        low, high = min(side.speeds), max(side.speeds)
        print(
            f"{name:22s} {median(side.speeds):7.1f} tok/s   {low:.1f} to {high:.1f}   "
            f"{side.tokens_per_round:.2f} tokens per pass of the target"
        )
    rows = [_row(claim, sides) for claim in CLAIMS]
    for row in rows:
        low, high = row["spread"]
        kept = "holds" if row["holds"] else "MISSED"
        print(
            f"{row['name']:50s} {row['ratio']:.2f}x ({low:.2f} to {high:.2f}), wanted {row['wanted']}: {kept}"
        )
        if not row["holds"]:
            print(f"    every draft accepted would be {row['ceiling']:.2f} times the peer's tokens per pass")
    facts = _facts(pair, repeats, max_tokens, len(prompts))
    print(json.dumps({"ratios": rows, "sides": {n: asdict(s) for n, s in sides.items()}, **facts}))


def _prompts(pair: "LoadedPair") -> list[list[int]]:
    from app.bench.prompts import read_prompts
    from app.chat_prompt import Message
    from app.session import Session

    session = Session(pair)
    return [
        session.prompt_ids([Message(role="user", content=p.prompt)], 256)[0] for p in read_prompts(PROMPTS)
    ]


def _runs(pair: "LoadedPair", max_tokens: int) -> dict[str, Run]:
    runs: dict[str, Run] = {}
    for temperature in (0.0, 0.8):
        at = f"T={temperature:g}"
        runs[f"mlx-lm plain {at}"] = _mlx_plain(pair, max_tokens, temperature)
        runs[f"plain {at}"] = _ours(pair, max_tokens, temperature, "none")
        runs[f"mlx-lm drafted {at}"] = _mlx_drafted(pair, max_tokens, temperature)
        runs[f"drafted {at}"] = _ours(pair, max_tokens, temperature, "model")
    runs["auto T=0"] = _ours(pair, max_tokens, 0.0, "auto")
    return runs


def _ours(pair: "LoadedPair", max_tokens: int, temperature: float, drafter: Any) -> Run:
    seeds = iter(range(10**9))

    def run(prompt: Sequence[int]) -> tuple[int, int]:
        pair.engine.forget()
        options = Options(
            max_tokens=max_tokens, temperature=temperature, drafter=drafter, seed=next(seeds),
            draft_length=DRAFT_LENGTH, stop_tokens=pair.stop_tokens,
        )  # fmt: skip
        rounds = list(pair.engine.generate(prompt, options))
        return sum(len(r.tokens) for r in rounds), len(rounds)

    return run


def _mlx_plain(pair: "LoadedPair", max_tokens: int, temperature: float) -> Run:
    import mlx.core as mx
    from mlx_lm.generate import generate_step
    from mlx_lm.sample_utils import make_sampler

    model = pair.engine.target.model
    sampler = make_sampler(temperature)

    def run(prompt: Sequence[int]) -> tuple[int, int]:
        tokens = generate_step(mx.array(list(prompt)), model, max_tokens=max_tokens, sampler=sampler)
        return _count(pair, ((int(token), False) for token, _ in tokens))

    return run


def _mlx_drafted(pair: "LoadedPair", max_tokens: int, temperature: float) -> Run:
    import mlx.core as mx
    from mlx_lm.generate import speculative_generate_step
    from mlx_lm.sample_utils import make_sampler

    drafter = pair.engine.model_drafter
    if drafter is None:
        raise typer.BadParameter("the pair has no draft model")
    models = pair.engine.target.model, drafter.cached.model
    sampler = make_sampler(temperature)

    def run(prompt: Sequence[int]) -> tuple[int, int]:
        tokens = speculative_generate_step(
            mx.array(list(prompt)), *models, max_tokens=max_tokens, sampler=sampler,
            num_draft_tokens=DRAFT_LENGTH,
        )  # fmt: skip
        return _count(pair, ((int(token), drafted) for token, _, drafted in tokens))

    return run


def _count(pair: "LoadedPair", tokens: Iterable[tuple[int, bool]]) -> tuple[int, int]:
    """Tokens until the answer ends, and rounds: each ends with a token that was not drafted."""
    count = rounds = 0
    open_round = False
    for token, drafted in tokens:
        count += 1
        open_round = drafted
        rounds += not drafted
        if token in pair.stop_tokens:
            break
    return count, rounds + open_round


@dataclass(slots=True)
class Side:
    """What one side did, repeat by repeat."""

    speeds: list[float]
    """Tokens per second."""
    tokens: int = 0
    rounds: int = 0

    @property
    def tokens_per_round(self) -> float:
        return self.tokens / self.rounds


def _measure(runs: dict[str, Run], prompts: Sequence[Sequence[int]], repeats: int) -> dict[str, Side]:
    for run in runs.values():
        run(prompts[0])
    sides = {name: Side([]) for name in runs}
    for _ in range(repeats):
        seconds, tokens = dict.fromkeys(runs, 0.0), dict.fromkeys(runs, 0)
        for prompt in prompts:
            for name, run in runs.items():
                start = time.perf_counter()
                count, rounds = run(prompt)
                seconds[name] += time.perf_counter() - start
                tokens[name] += count
                sides[name].rounds += rounds
        for name, side in sides.items():
            side.speeds.append(tokens[name] / seconds[name])
            side.tokens += tokens[name]
    return sides


def _row(claim: Claim, sides: dict[str, Side]) -> dict[str, Any]:
    ours, peer = sides[claim.ours], sides[claim.peer]
    ratios = [a / b for a, b in zip(ours.speeds, peer.speeds, strict=True)]
    ratio = median(ratios)
    return {
        **asdict(claim),
        "ratio": round(ratio, 3),
        "ceiling": round((DRAFT_LENGTH + 1) / peer.tokens_per_round, 3),
        "spread": [round(min(ratios), 3), round(max(ratios), 3)],
        "holds": ratio >= claim.wanted,
    }


def _facts(pair: "LoadedPair", repeats: int, max_tokens: int, prompts: int) -> dict[str, Any]:
    from app.machine import device_name, versions

    return {
        "pair": pair.spec.name, "repeats": repeats, "max_tokens": max_tokens, "prompts": prompts,
        "draft_length": DRAFT_LENGTH, "device": device_name(), "blas": blas(), "versions": versions(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }  # fmt: skip


if __name__ == "__main__":
    typer.run(main)
