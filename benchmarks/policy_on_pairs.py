"""The controller on real pairs: speeds of `auto`, of plain decoding and of mlx-lm's `generate_step`.

`python -m benchmarks.policy_on_pairs [FOLDER]`, with a folder made by `benchmarks.stranger_pairs`, else the
built-in pair. The three sides take turns in one process. Every repeat begins with a new controller,
calibrated as in the app, or fresh. A folder also gets a draft with random weights, and lookup alone. Compiled
if MLX_SPEC_COMPILE=1.
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.shell.runtime import blas, prepare

prepare()

import mlx.core as mx  # noqa: E402
import mlx.nn as nn  # noqa: E402
from mlx_lm.utils import load_model  # noqa: E402

from benchmarks.peers import mlx_lm_side, ours  # noqa: E402
from benchmarks.peers.answering import Answer, Ask, decoding_pace  # noqa: E402
from benchmarks.peers.prompts import read_prompts  # noqa: E402
from mlx_spec import Engine  # noqa: E402
from mlx_spec.calibrate import Calibration, calibrate  # noqa: E402
from mlx_spec.drafters.lookup import LookupDrafter  # noqa: E402
from mlx_spec.drafters.model import ModelDrafter  # noqa: E402
from mlx_spec.policy.controller import Controller  # noqa: E402
from mlx_spec.target.model import COMPILES  # noqa: E402

TEMPERATURES = (0.0, 0.8, 1.2)
SIDES = ("auto", "none", "mlx-lm")


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
    side = ours.OurSide(None, None, tune=False)
    encoded = [side.encode(prompt.messages) for prompt in read_prompts()]
    return Subject("built-in", side.pair.engine, [ids for ids, _ in encoded], frozenset(encoded[0][1]))


def answer(
    subject: Subject, side: str, prompt: Sequence[int], tokens: int, temperature: float, seed: int = 0
) -> Answer:
    way = "plain" if side == "mlx-lm" else side
    ask = Ask(tuple(prompt), tuple(subject.stops), tokens, temperature, seed, way)
    if side == "mlx-lm":
        return mlx_lm_side.answer(subject.engine.target.model, None, ask)
    return ours.answer(subject.engine, ask)


def speeds(
    subject: Subject, temperature: float, prompts: Sequence[Sequence[int]], tokens: int
) -> dict[str, float]:
    """Tokens per second of the three sides, which take turns in rotating order."""
    answers: dict[str, list[Answer]] = {side: [] for side in SIDES}
    for number, prompt in enumerate(prompts):
        for side in SIDES[number % 3 :] + SIDES[: number % 3]:
            answers[side].append(answer(subject, side, prompt, tokens, temperature, number))
    return {side: decoding_pace(each) for side, each in answers.items()}


def show(subject: Subject, asked: argparse.Namespace) -> None:
    calibration: Calibration = calibrate(subject.engine)
    chosen = [subject.prompts[i % len(subject.prompts)] for i in range(asked.prompts)]
    for prompt in chosen:  # warm up: graphs are built
        for side in ("auto", "mlx-lm"):
            answer(subject, side, prompt, 16, 0.8)
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
