"""The controller on real pairs: speeds of `auto`, of plain decoding and of mlx-lm's `generate_step`.

`python -m benchmarks.policy_on_pairs [FOLDER]`, with a folder made by `benchmarks.stranger_pairs`, else the
built-in pair. The three sides take turns in one process. Every repeat begins with a new controller,
calibrated as in the app, or fresh. A folder also gets a draft with random weights, and lookup alone. Compiled
if MLX_SPEC_COMPILE=1.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.shell.runtime import blas, prepare

prepare()

import mlx.core as mx  # noqa: E402
import mlx.nn as nn  # noqa: E402
from mlx_lm.generate import generate_step  # noqa: E402
from mlx_lm.sample_utils import make_sampler  # noqa: E402
from mlx_lm.utils import load_model  # noqa: E402

from benchmarks.peers.prompts import read_prompts  # noqa: E402
from mlx_spec import Engine  # noqa: E402
from mlx_spec.calibrate import Calibration, calibrate  # noqa: E402
from mlx_spec.drafters.lookup import LookupDrafter  # noqa: E402
from mlx_spec.drafters.model import ModelDrafter  # noqa: E402
from mlx_spec.policy.controller import Controller  # noqa: E402
from mlx_spec.target.model import COMPILES  # noqa: E402
from mlx_spec.types import Options  # noqa: E402

TEMPERATURES = (0.0, 0.8, 1.2)


@dataclass(frozen=True)
class Subject:
    """A pair and its prompts."""

    name: str
    engine: Engine
    prompts: Sequence[Sequence[int]]
    stops: frozenset[int] = frozenset()


def engine_of(target: nn.Module, draft: nn.Module | None = None) -> Engine:
    """An engine with lookup, as in the app."""
    models = [ModelDrafter(draft)] if draft is not None else []
    return Engine(target, [LookupDrafter(), *models], context_limit=2048)


def strangers(folder: Path) -> Iterator[Subject]:
    pairs = sorted(path.parent for path in folder.glob("*/held_out.json"))
    for pair in pairs:
        prompts = json.loads((pair / "held_out.json").read_text())
        draft = load_model(pair / "draft")[0]
        yield Subject(pair.name, engine_of(load_model(pair / "target")[0], draft), prompts)
    last = pairs[-1]
    prompts = json.loads((last / "held_out.json").read_text())
    target, random_draft = load_model(last / "target")[0], load_model(last / "draft")[0]
    random_draft.update(_noise(random_draft.parameters()))
    yield Subject("random draft", engine_of(target, random_draft), prompts)
    yield Subject("lookup alone", engine_of(target), prompts)


def _noise(parameters: object) -> dict[str, object]:
    from mlx.utils import tree_map

    return tree_map(lambda array: 0.02 * mx.random.normal(array.shape, key=mx.random.key(1)), parameters)


def builtin() -> Subject:
    from benchmarks.peers.ours import OurSide

    side = OurSide(None, None, tune=False)
    encoded = [side.encode(prompt.messages) for prompt in read_prompts()]
    return Subject("built-in", side.pair.engine, [ids for ids, _ in encoded], frozenset(encoded[0][1]))


def answer(subject: Subject, prompt: Sequence[int], options: Options) -> tuple[float, int]:
    """(seconds, tokens) after the first round."""
    subject.engine.forget()
    rounds = list(subject.engine.generate(prompt, options))[1:]
    return sum(read.seconds for read in rounds), sum(len(read.tokens) for read in rounds)


def mlx_lm_answer(subject: Subject, prompt: Sequence[int], options: Options) -> tuple[float, int]:
    """As `answer`, with mlx-lm's loop."""
    mx.random.seed(options.seed)
    target, sampler = subject.engine.target.model, make_sampler(options.temperature)
    ends = []
    for token, _ in generate_step(
        mx.array(list(prompt)), target, max_tokens=options.max_tokens, sampler=sampler
    ):
        ends.append(time.perf_counter())
        if token in subject.stops:
            break
    return ends[-1] - ends[0], len(ends) - 1


def speeds(
    subject: Subject, temperature: float, prompts: Sequence[Sequence[int]], tokens: int
) -> dict[str, float]:
    """Tokens per second of the three sides, which take turns in rotating order."""
    sides = ["auto", "none", "mlx-lm"]
    spent = {side: [0.0, 0] for side in sides}
    for number, prompt in enumerate(prompts):
        for side in sides[number % 3 :] + sides[: number % 3]:
            ask = mlx_lm_answer if side == "mlx-lm" else answer
            options = Options(max_tokens=tokens, temperature=temperature, seed=number,
                              drafter="none" if side == "mlx-lm" else side,
                              stop_tokens=subject.stops)  # fmt: skip
            seconds, count = ask(subject, prompt, options)
            spent[side][0] += seconds
            spent[side][1] += count
    return {side: count / seconds for side, (seconds, count) in spent.items()}


def show(subject: Subject, asked: argparse.Namespace) -> None:
    calibration: Calibration = calibrate(subject.engine)
    chosen = [subject.prompts[i % len(subject.prompts)] for i in range(asked.prompts)]
    for prompt in chosen:  # warm up: graphs are built
        answer(subject, prompt, Options(max_tokens=16, temperature=0.8))
        mlx_lm_answer(subject, prompt, Options(max_tokens=16, temperature=0.8))
    for state in asked.states:
        for temperature in asked.temperatures:
            gains, plain = [], []
            for repeat in range(asked.repeats):
                subject.engine.controller = Controller(calibration.costs() if state == "calibrated" else None)
                turn = [
                    subject.prompts[(repeat * 3 + i) % len(subject.prompts)] for i in range(asked.prompts)
                ]
                found = speeds(subject, temperature, turn, asked.tokens)
                gains.append(found["auto"] / found["none"])
                plain.append(found["none"] / found["mlx-lm"])
            print(
                f"{subject.name:14}{state:12}{temperature:4}{spread(gains):>22}{spread(plain):>22}",
                flush=True,
            )


def spread(ratios: Sequence[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.policy_on_pairs", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--temperatures", nargs="*", type=float, default=TEMPERATURES)
    parser.add_argument("--states", nargs="*", default=["calibrated", "fresh"])
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=96)
    asked = parser.parse_args()
    print(
        f"{blas()} BLAS, {mx.default_device()}, compiled: {COMPILES}; {asked.prompts} x {asked.tokens} tokens"
    )
    heads = f"{'pair':14}{'controller':12}{'T':>4}{'auto / plain':>22}{'plain / mlx-lm':>22}"
    print(f"{heads}, {asked.repeats} repeats")
    subjects = strangers(asked.folder) if asked.folder else iter([builtin()])
    for subject in subjects:
        if not asked.only or subject.name in asked.only:
            show(subject, asked)


if __name__ == "__main__":
    main()
