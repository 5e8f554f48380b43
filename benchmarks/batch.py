"""`python -m benchmarks.batch`: prompts answered in one batch, one after the other, and in mlx-lm's batches.

All sides run in this process on the same weights, in a new order each repeat. Speeds are the tokens of all
answers over the wall time, prefill included. The last line of stdout is one JSON document.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from app.shell.output import Progress, data
from app.shell.runtime import prepare
from app.shell.tables import plain_table, print_table
from benchmarks.peers.prompts import read_prompts
from benchmarks.peers.report import dated_line
from mlx_spec.types import BATCH_SIZES, Options

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

Prompts = Sequence[Sequence[int]]
Side = Callable[[Prompts], int]
"""Answers all prompts; returns the number of tokens generated."""


@dataclass
class Speeds:
    """Tokens per second by (rows, side), one per repeat."""

    found: dict[tuple[int, str], list[float]] = field(default_factory=dict)

    def add(self, rows: int, side: str, speed: float) -> None:
        self.found.setdefault((rows, side), []).append(speed)

    def ratio(self, rows: int, side: str, other: str) -> float:
        """Median over repeats. The prompts differ between repeats, not between sides."""
        pairs = zip(self.found[rows, side], self.found[rows, other], strict=True)
        return median(a / b for a, b in pairs)


def main(
    pair: Annotated[str, typer.Argument(help="A pair that is installed.")] = "builtin",
    max_tokens: Annotated[int, typer.Option(min=2)] = 128,
    repeats: Annotated[int, typer.Option(min=1)] = 5,
    temperature: Annotated[float, typer.Option(min=0)] = 0,
    sizes: Annotated[str, typer.Option(help="Rows, by commas.")] = ",".join(map(str, BATCH_SIZES)),
) -> None:
    """Time every side at every number of rows."""
    prepare()
    from app.engine.session import Session
    from mlx_spec.calibrate import calibrate
    from models.load.engine import load
    from models.pairs.resolve import resolve

    loaded = load(resolve(pair))
    calibrate(loaded.engine)
    session = Session(loaded)
    prompts = [session.prompt_ids(prompt.messages, max_tokens)[0] for prompt in read_prompts()]
    sides = _sides(loaded, max_tokens, temperature)
    speeds, line = Speeds(), Progress()
    for rows in map(int, sizes.split(",")):
        for repeat in range(-1, repeats):  # the first is a warm-up: graphs are built, costs are learned
            order = random.Random(f"{repeat} {rows}")
            asked = order.sample(prompts, rows)
            for name in order.sample(list(sides), len(sides)):
                line.show(f"{rows} rows, repeat {repeat + 1} of {repeats}, {name}")
                loaded.engine.forget()
                start = time.perf_counter()
                tokens = sides[name](asked)
                if repeat >= 0:
                    speeds.add(rows, name, tokens / (time.perf_counter() - start))
    line.clear()
    show(speeds)
    found = {f"{rows} {side}": values for (rows, side), values in speeds.found.items()}
    command = f"python -m benchmarks.batch {pair} --max-tokens {max_tokens} --repeats {repeats}"
    data(dated_line({"command": command, "temperature": temperature, "tokens_per_second": found}))


def _sides(pair: "LoadedPair", max_tokens: int, temperature: float) -> dict[str, Side]:
    def options(drafter: str) -> Options:
        return Options(
            max_tokens=max_tokens,
            temperature=temperature,
            seed=1,
            drafter=drafter,
            stop_tokens=pair.stop_tokens,
        )

    def batch(drafter: str) -> Side:
        def side(prompts: Prompts) -> int:
            written = pair.engine.generate_batch(prompts, [options(drafter)] * len(prompts))
            return sum(len(played.tokens) for _, played in written)

        return side

    def one_by_one(drafter: str) -> Side:
        def side(prompts: Prompts) -> int:
            written = (pair.engine.generate(ids, options(drafter)) for ids in prompts)
            return sum(len(played.tokens) for rounds in written for played in rounds)

        return side

    def mlx_lm(prompts: Prompts) -> int:
        from mlx_lm.generate import BatchGenerator
        from mlx_lm.sample_utils import make_sampler

        generator = BatchGenerator(
            pair.engine.target.model,
            stop_tokens=[[token] for token in pair.stop_tokens],
            sampler=make_sampler(temperature),
        )
        generator.insert([list(ids) for ids in prompts], [max_tokens] * len(prompts))
        tokens = 0
        while responses := generator.next_generated():
            tokens += len(responses)
        generator.close()
        return tokens

    return {
        "one by one": one_by_one("auto"),
        "one by one, plain": one_by_one("none"),
        "batch": batch("auto"),
        "batch, plain": batch("none"),
        "mlx-lm": mlx_lm,
    }


def show(speeds: Speeds) -> None:
    """Print medians and ratios."""
    sides = list(dict.fromkeys(side for _, side in speeds.found))
    ratios = {
        "batch/1 by 1": ("batch", "one by one"),
        "both plain": ("batch, plain", "one by one, plain"),
        "auto/plain": ("batch", "batch, plain"),
        "auto/mlx-lm": ("batch", "mlx-lm"),
    }
    table = plain_table("rows", *(f">{name}" for name in (*sides, *ratios)))
    for rows in dict.fromkeys(rows for rows, _ in speeds.found):
        values = [f"{median(speeds.found[rows, side]):.1f}" for side in sides]
        table.add_row(str(rows), *values, *(f"{speeds.ratio(rows, *each):.2f}" for each in ratios.values()))
    print_table(table)


if __name__ == "__main__":
    typer.run(main)
