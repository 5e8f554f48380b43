"""`python -m benchmarks.real_shapes`: models of real shapes with set acceptance rates, compared with mlx-lm.

For a machine with a GPU (Metal or CUDA). Weights are random, not downloaded (`benchmarks.shapes`). All sides
run in this process, so that the target is in memory only once; they alternate in changing order. The last
line of stdout is one JSON document, for docs/benchmarks.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.shell.output import Progress, data
from app.shell.runtime import prepare
from app.shell.tables import plain_table, print_table
from benchmarks.peers.answering import Answer, Ask
from benchmarks.peers.measure import Encoded, Measurement
from benchmarks.peers.prompts import groups
from benchmarks.peers.ratios import Paces, ratios, speeds
from benchmarks.peers.records import Records
from benchmarks.peers.report import dated_line
from benchmarks.peers.sides import Side

if TYPE_CHECKING:
    import mlx.nn as nn

    from mlx_spec import Engine

LENGTHS = (1, 2, 3, 4, 6)
"""Fixed draft lengths, ours and mlx-lm's."""


@dataclass(frozen=True, slots=True)
class InProcess:
    """An engine and mlx-lm's loops on the same models, in this process."""

    engine: "Engine"
    target: "nn.Module"
    draft: "nn.Module"

    def call(self, method: str, *arguments: Any) -> Answer:
        """Answer an `Ask`, as a side's process would."""
        from benchmarks.peers import mlx_lm_side, ours

        ask: Ask = arguments[0]
        if ask.way in ("plain", "speculative"):
            return mlx_lm_side.answer(self.target, self.draft, ask)
        return ours.answer(self.engine, ask)


def main(
    target: Annotated[str, typer.Option(help="llama-3.1-8b, llama-3.2-3b or tiny.")] = "llama-3.1-8b",
    drafts: Annotated[str, typer.Option(help="135m, shallow-100m, llama-3.2-1b, tiny; by commas.")] = (
        "135m,shallow-100m"
    ),
    acceptances: Annotated[
        str, typer.Option(help="Shares of drafted tokens, by commas.")
    ] = "0.1,0.5,0.7,0.9",
    lengths: Annotated[str, typer.Option(help="Fixed draft lengths, by commas.")] = ",".join(
        map(str, LENGTHS)
    ),
    bits: Annotated[int, typer.Option(help="Of the weights; 16 leaves them unquantized.")] = 4,
    vocab: Annotated[int, typer.Option(min=256, help="Tokens of the vocabulary.")] = 128256,
    context: Annotated[int, typer.Option(min=1, help="Tokens of the prompt.")] = 512,
    max_tokens: Annotated[int, typer.Option(min=2, help="Of each answer.")] = 128,
    temperature: Annotated[float, typer.Option(min=0)] = 0.0,
    repeats: Annotated[int, typer.Option(min=1)] = 5,
) -> None:
    """Measure plain, drafted and adaptive decoding, and mlx-lm's loops, at every acceptance."""
    prepare()
    shares = [float(share) for share in acceptances.split(",")]
    fixed = [int(length) for length in lengths.split(",")]
    settings: dict[str, Any] = {
        "vocab": vocab, "context": context, "max_tokens": max_tokens, "temperature": temperature,
        "repeats": repeats,
    }  # fmt: skip
    quantized = bits if bits < 16 else None
    found = {
        draft: measure((target, draft), shares, quantized, lengths=fixed, **settings)
        for draft in drafts.split(",")
    }
    for draft, result in found.items():
        _show(f"{target} + {draft}, temperature {temperature:g}", result, fixed)
    command = f"python -m benchmarks.real_shapes {' '.join(sys.argv[1:])}".strip()
    data(dated_line({"command": command, "target": target, "bits": bits, **settings, "by_draft": found}))


def measure(
    pair: tuple[str, str],
    acceptances: Sequence[float],
    bits: int | None,
    *,
    lengths: Sequence[int] = LENGTHS,
    vocab: int,
    context: int,
    max_tokens: int,
    temperature: float,
    repeats: int,
) -> dict[str, Any]:
    """Speeds and ratios of one pair of shapes; a category is an acceptance rate."""
    import mlx.core as mx

    from benchmarks.shapes import DRAFTS, TARGETS, ScriptedDraft, random_draft, random_target
    from mlx_spec import Engine
    from mlx_spec.calibrate import calibrate
    from mlx_spec.drafters.lookup import LookupDrafter
    from mlx_spec.drafters.model import ModelDrafter

    target, draft = pair
    line = Progress()
    line.show(f"Making {target} and {draft} ...")
    on_gpu = mx.default_device() == mx.Device(mx.gpu)
    dtype = mx.bfloat16 if on_gpu else mx.float32
    big = random_target(TARGETS[target], vocab, bits, dtype)
    small = random_draft(DRAFTS[draft], vocab, bits, dtype)
    processes: dict[str, InProcess] = {}
    for share in acceptances:
        scripted = ScriptedDraft(small, vocab, share)
        drafters = [LookupDrafter(), ModelDrafter(scripted)]
        engine = Engine(big, drafters, context_limit=context + max_tokens + 256)
        line.show(f"Measuring rounds, {share:.0%} accepted ...")
        calibrate(engine)
        processes[_category(share)] = InProcess(engine, big, scripted)
    prompts = [
        Encoded(category, category, tuple(1 + i % (vocab - 1) for i in range(context)), ())
        for category in processes
    ]
    records = Records({})
    measurement = Measurement(processes, prompts, max_tokens, records, line.show)
    for category in processes:
        measurement.warm_up(sides(category, lengths))
    measurement.run("compare", lambda category, _: sides(category, lengths), [temperature], repeats)
    line.clear()
    found, by_group = records.of("compare"), groups(list(processes))
    return {
        "ratios": [asdict(row) for row in ratios(found, by_group)],
        "speeds": [asdict(speed) for speed in speeds(found, by_group)],
        "acceptance": {
            category: _accepted(Paces(found), category, temperature, lengths[0]) for category in processes
        },
        "peak_memory_bytes": mx.get_peak_memory(),
    }


def sides(category: str, lengths: Sequence[int] = LENGTHS) -> list[Side]:
    """All sides at one acceptance rate."""
    return [
        Side("ours auto", category, "auto"),
        Side("ours plain", category, "none", 0),
        *(Side(f"ours {k}", category, "model", k) for k in lengths),
        Side("mlx-lm plain", category, "plain"),
        *(Side(f"mlx-lm {k}", category, "speculative", k) for k in lengths),
    ]


def _category(share: float) -> str:
    return f"{share:.0%} accepted"


def _accepted(paces: Paces, category: str, temperature: float, length: int) -> float:
    """The measured acceptance rate of our rounds with this draft length: with 1, that of a token."""
    answers = [record.answer for record in paces.records(f"ours {length}", temperature, [category])]
    return sum(answer.accepted for answer in answers) / sum(answer.drafted for answer in answers)


def _show(title: str, result: Mapping[str, Any], lengths: Sequence[int]) -> None:
    order = list(result["acceptance"])
    table = plain_table(title, *(f">{category}" for category in order))
    by = {(s["side"], s["group"]): s["decode_tokens_per_second"] for s in result["speeds"]}
    for side in sides(order[0], lengths):
        table.add_row(f"{side.name}, tok/s", *(f"{by[side.name, category]:.1f}" for category in order))
    print_table(table)


if __name__ == "__main__":
    typer.run(main)
