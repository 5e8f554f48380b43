"""Heads on a target's hidden states, predicted for Macs: a table of docs/roofline.md.

`python -m benchmarks.heads_on_macs [--accepted 0.62,0.41,0.27]` prints it; the numbers say how often draft
position 1, 2, ... of the first head is accepted with all before it. Nothing here was measured.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace

from models.speed.chips import find_chip
from models.speed.heads import Head, best, conditional, step_seconds
from models.speed.roofline import Model, find_shape, format_bits, pass_seconds

CHIPS = ("M1", "M1 Max", "M2", "M2 Max", "M3", "M3 Max", "M4", "M4 Pro", "M4 Max", "M5", "M5 Max")
BITS = format_bits("4-bit")
LLAMA_8B = Head(
    "4-bit", 4096, 14336, 32, 8, 128, 32000, BITS, (0.730, 0.521, 0.355),
    "vLLM's test of RedHatAI's EAGLE-3 head: MT-Bench, greedy, 3 drafted",
)  # fmt: skip
HEADS = {
    "SmolLM2-135M": (
        Head(
            "8-bit, ships", 576, 1536, 9, 3, 64, 8192, format_bits("8-bit"), (0.415, 0.159, 0.062, 0.020),
            "measured on texts that its training left out, greedy",
        ),
        Head(
            "4-bit", 576, 1536, 9, 3, 64, 8192, BITS, conditional([0.60] * 5),
            "**assumed**: 0.60 at every depth, given all before",
        ),
    ),
    "Llama-3.1-8B": (LLAMA_8B, replace(LLAMA_8B, name="fp16, as published", bits=format_bits("fp16"))),
}  # fmt: skip
"""By target; names say how the head is stored."""


def lines(heads: dict[str, tuple[Head, ...]] = HEADS) -> Iterator[str]:
    """Both tables, in Markdown: what the heads are, and what they should bring."""
    yield "| target, 4-bit | head | a step reads | layers | accepted by depth | from |"
    yield "|---|---|---|---|---|---|"
    for name, each in heads.items():
        target = _target(name)
        weights = target.shape.parameters * 1e9 * target.bits
        for head in each:
            share = head.step_parameters * head.bits / weights
            accepted = " ".join(f"{rate:.2f}" for rate in head.accepted)
            yield (
                f"| {name} | {head.name}, {head.vocab} tokens "
                f"| {head.step_parameters * head.bits / 8e6:.0f} MB, {share:.0%} of the target's "
                f"| 1 of {target.shape.layers} | {accepted} | {head.source} |"
            )
    yield ""
    yield "| chip | target | head | plain, tokens/s | a step, in plain | with the head | drafted | gain |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, each in heads.items():
        for head in each:
            yield from (_row(name, head, chip) for chip in CHIPS)


def _row(name: str, head: Head, chip_name: str) -> str:
    target, chip = _target(name), find_chip(chip_name)
    plain = pass_seconds(target, chip)
    drafted, length = best(target, head, chip)
    return (
        f"| {chip_name} | {name} | {head.name} | {1 / plain:.0f} | {step_seconds(head, chip) / plain:.3f} "
        f"| {drafted:.0f} | {length} | {drafted * plain:.2f} |"
    )


def _target(name: str) -> Model:
    shape = find_shape(name)
    assert shape is not None, f"shapes.toml lacks {name}"
    return Model(shape, BITS)


def _given(accepted: Sequence[float]) -> dict[str, tuple[Head, ...]]:
    """HEADS, the first with these acceptances."""
    name, *_ = HEADS
    return {**HEADS, name: tuple(replace(h, accepted=tuple(accepted), source="given") for h in HEADS[name])}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.heads_on_macs", description=__doc__)
    parser.add_argument("--accepted", help="rates, with commas between them")
    asked = parser.parse_args()
    given = _given([float(word) for word in asked.accepted.split(",")]) if asked.accepted else HEADS
    print("\n".join(lines(given)))
