"""`python -m benchmarks.long_context`: the cost of a round at 256 to 16k tokens, plain and drafted.

Runs the built-in models beyond their trained context length, over empty cache rows: the output is nonsense,
but a round's cost does not depend on it. Host time is the processor time of the thread that builds the
rounds; it should not grow with the context. The last line of stdout is one JSON document.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Annotated

import typer

from app.shell.output import Progress, data
from app.shell.runtime import prepare
from app.shell.tables import plain_table, print_table
from benchmarks.peers.report import dated_line
from mlx_spec.types import Options

if TYPE_CHECKING:
    from mlx_spec import Engine

CONTEXTS = (256, 1024, 4096, 16384)
LENGTHS = (0, 3)
"""Draft lengths: plain decoding, and a typical one."""
FIRST = 3
"""Warm-up rounds at each context and length."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The median cost of rounds with one draft length at one context."""

    context: int
    draft_length: int
    kv_bits: int | None
    round_seconds: float
    host_seconds: float
    peak_memory_bytes: int


def main(
    contexts: Annotated[str, typer.Option(help="Tokens, ascending, by commas.")] = ",".join(
        map(str, CONTEXTS)
    ),
    rounds: Annotated[int, typer.Option(min=1, help="Timed at each context and length.")] = 32,
    kv_bits: Annotated[int, typer.Option(help="Measure with quantized keys and values too; 0: do not.")] = 8,
) -> None:
    """Time rounds at every context, with full and with quantized keys and values."""
    prepare()
    from benchmarks.peers.mlx_lm_side import draft_model
    from mlx_spec import Engine
    from mlx_spec.drafters.model import ModelDrafter
    from models.load.engine import load
    from models.pairs.resolve import resolve

    wanted = sorted(int(context) for context in contexts.split(","))
    builtin = load(resolve("builtin")).engine
    draft = draft_model(builtin)
    drafters = [] if draft is None else [ModelDrafter(draft)]
    costs: list[Cost] = []
    for bits in (None, kv_bits) if kv_bits else (None,):
        limit = wanted[-1] + 20 * (rounds + FIRST)
        engine = Engine(builtin.target.model, drafters, context_limit=limit, kv_bits=bits)
        costs += measure(engine, wanted, rounds, bits)
    show(costs)
    command, found = "python -m benchmarks.long_context", [asdict(cost) for cost in costs]
    data(dated_line({"command": command, "rounds": rounds, "costs": found}))


def measure(engine: "Engine", contexts: Sequence[int], rounds: int, kv_bits: int | None) -> list[Cost]:
    """Measure rounds at each context, without its prefill: 16k tokens take minutes on a CPU."""
    import mlx.core as mx

    text = [token % (engine.target.vocab - 16) + 8 for token in range(contexts[-1])]
    line, found = Progress(), []
    for context in contexts:
        for k in LENGTHS if engine.drafters else LENGTHS[:1]:
            line.show(f"{context} tokens, {k} drafted, keys and values of {kv_bits or 'full'} bits ...")
            engine.pretend_cached(text[:context])
            options = Options(
                drafter="model" if k else "none", draft_length=k, max_tokens=(k + 1) * (rounds + FIRST + 1)
            )
            whole, host = _rounds(engine, text[:context], options, rounds)
            found.append(Cost(context, k, kv_bits, whole, host, mx.get_peak_memory()))
    line.clear()
    return found


def _rounds(engine: "Engine", prompt: Sequence[int], options: Options, count: int) -> tuple[float, float]:
    """Median seconds of a round: wall time, and this thread's processor time."""
    reading = engine.generate(prompt, options)
    walls: list[float] = []
    hosts: list[float] = []
    for number in range(count + FIRST):
        wall, host = time.perf_counter(), time.thread_time()
        next(reading)
        if number >= FIRST:
            walls.append(time.perf_counter() - wall)
            hosts.append(time.thread_time() - host)
    return median(walls), median(hosts)


def show(costs: Sequence[Cost]) -> None:
    """Print a table with a line per context."""
    kinds = list(dict.fromkeys((cost.kv_bits, cost.draft_length) for cost in costs))
    heads = (f">{bits or 'full'} bits, {k} drafted" for bits, k in kinds)
    table = plain_table("ms per round (host)", *heads)
    for context in dict.fromkeys(cost.context for cost in costs):
        here = {(cost.kv_bits, cost.draft_length): cost for cost in costs if cost.context == context}
        cells = (
            f"{c.round_seconds * 1000:.1f} ({c.host_seconds * 1000:.2f})" for c in map(here.get, kinds) if c
        )
        table.add_row(f"{context} tokens", *cells)
    print_table(table)


if __name__ == "__main__":
    typer.run(main)
