"""Predicted gains of EAGLE-3 heads on Macs: a table of docs/roofline.md.

`python -m benchmarks.heads_on_macs [--accepted 0.62,0.41,0.27]` prints it; the numbers replace the first
head's acceptance: by position, the chance that all tokens up to it are accepted. Nothing here was measured.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import mul

from benchmarks.known_models import known_model
from models.pairs.published import Layout, Published, Round
from models.speed.chips import Chip, find_chip
from models.speed.published_rounds import EAGLE, best, step_parameters
from models.speed.roofline import Model, Shape, format_bits, pass_seconds

CHIPS = ("M1", "M1 Max", "M2", "M2 Max", "M3", "M3 Max", "M4", "M4 Pro", "M4 Max", "M5", "M5 Max")
BITS = format_bits("4-bit")


def head(name: str, layout: Layout, bits: float, accepted: Sequence[float], source: str) -> Published:
    """`accepted`: by position, the chance that all drafted tokens up to it are accepted."""
    known = Round("", source, 0.0, tuple(accepted))
    return Published(name, EAGLE, (), source, layout, bits=bits, rounds=(known,))


SMOLLM2 = Layout(hidden=576, intermediate=1536, heads=9, kv_heads=3, head_dim=64, vocab=8192)
LLAMA = Layout(hidden=4096, intermediate=14336, heads=32, kv_heads=8, head_dim=128, vocab=32000)
LLAMA_8B = head(
    "4-bit",
    LLAMA,
    BITS,
    (0.730, 0.521, 0.355),
    "vLLM's test of RedHatAI's EAGLE-3 head: MT-Bench, greedy, 3 drafted",
)
HEADS = {
    "SmolLM2-135M": (
        head(
            "8-bit, ships", SMOLLM2, format_bits("8-bit"), (0.715, 0.530, 0.409, 0.323, 0.260, 0.213, 0.177),
            "measured on texts held out of its training, greedy",
        ),
        head(
            "4-bit", SMOLLM2, BITS, tuple(accumulate([0.60] * 5, mul)),
            "**assumed**: 0.60 at every depth, given all before",
        ),
    ),
    "Llama-3.1-8B": (LLAMA_8B, replace(LLAMA_8B, repo="fp16, as published", bits=format_bits("fp16"))),
}  # fmt: skip
"""By target; `repo` says how the head is stored."""


def step_model(head: Published) -> Model:
    """What one draft step reads, as a model of one layer."""
    assert head.layout and head.bits
    kv = 2 * head.layout.kv_heads * head.layout.head_dim * 2
    return Model(Shape([], step_parameters(head, head.layout) / 1e9, 1, kv), head.bits)


def lines(heads: dict[str, tuple[Published, ...]] = HEADS) -> Iterator[str]:
    """Two tables in Markdown: the heads, and their predicted gains."""
    yield "| target, 4-bit | head | a step reads | layers | accepted by depth | from |"
    yield "|---|---|---|---|---|---|"
    for name, each in heads.items():
        target = known_model(name)
        for head in each:
            step, (known,) = step_model(head), head.rounds
            read = step.shape.parameters * step.bits
            share = read / (target.shape.parameters * target.bits)
            accepted = " ".join(f"{rate:.2f}" for rate in known.accepted)
            assert head.layout
            yield (
                f"| {name} | {head.repo}, {head.layout.vocab} tokens "
                f"| {read * 1e3 / 8:.0f} MB, {share:.0%} of the target's "
                f"| 1 of {target.shape.layers} | {accepted} | {known.source} |"
            )
    yield ""
    yield "| chip | target | head | plain, tokens/s | step, plain | drafted, tokens/s | length | gain |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, each in heads.items():
        for head in each:
            yield from (_row(name, head, find_chip(chip)) for chip in CHIPS)


def _row(name: str, head: Published, chip: Chip) -> str:
    target = known_model(name)
    plain, step = pass_seconds(target, chip), pass_seconds(step_model(head), chip)
    drafted, length = best(head, head.rounds[0], target, chip)
    return (
        f"| {chip.name} | {name} | {head.repo} | {1 / plain:.0f} | {step / plain:.3f} "
        f"| {drafted:.0f} | {length} | {drafted * plain:.2f} |"
    )


def _given(accepted: Sequence[float]) -> dict[str, tuple[Published, ...]]:
    """`HEADS` with these acceptances for the first target's heads."""
    name, *_ = HEADS
    known = Round("", "given", 0.0, tuple(accepted))
    return {**HEADS, name: tuple(replace(head, rounds=(known,)) for head in HEADS[name])}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.heads_on_macs", description=__doc__)
    parser.add_argument("--accepted", help="rates, with commas between them")
    asked = parser.parse_args()
    given = _given([float(word) for word in asked.accepted.split(",")]) if asked.accepted else HEADS
    print("\n".join(lines(given)))
