"""The predicted gain of drafting in batches: a table and a picture of docs/serving.md.

`python -m benchmarks.batches_on_macs [FILE.svg]` prints the table, and draws it with what was measured on a
CPU. Nothing was measured on a Mac. A pass over k + 1 rows of each of b texts reads the weights once, at the
published cost of b (k + 1) rows, and the keys and values of each text. That cost is known up to 32 rows (a
tile), so batches end there.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks.known_models import known_model
from models.speed.chips import Chip, find_chip
from models.speed.roofline import (
    LONGEST_DRAFT,
    ROUND_SECONDS,
    Model,
    expected_tokens,
    fastest,
    pass_seconds,
)

TILE = 32
TEXTS = (1, 2, 4, 8, 16)
"""Batch sizes: three texts are padded to four."""
RATES = (0.6, 0.8)
"""Assumed acceptance rates."""
PAIRS = {
    "Llama-3.1-8B + 1B": ("llama-3.1-8b", "llama-3.2-1b"),
    "Qwen3-32B + 0.6B": ("qwen3-32b", "qwen3-0.6b"),
}
CHIP = "M4 Max"
"""Its verify curve is that of M3 and M4."""
MEASURED = {1: 1.79, 2: 1.47, 4: 1.24, 8: 1.04, 16: 0.98}
"""SmolLM2-135M on two cores of an Intel Xeon: `python -m benchmarks.batch`, as in docs/serving.md."""


def lines() -> Iterator[str]:
    """The table, in Markdown."""
    yield f"| target + draft, 4-bit | accepted | {' | '.join(map(str, TEXTS))} |"
    yield f"|---|---|{'---|' * len(TEXTS)}"
    for name, rate, best in predictions():
        yield f"| {name} | {rate} | {' | '.join(f'{gain:.2f} ({k})' for gain, k in best)} |"


def predictions() -> Iterator[tuple[str, float, list[tuple[float, int]]]]:
    """(pair, acceptance rate, best gain and draft length by batch size)."""
    chip = find_chip(CHIP)
    for name, pair in PAIRS.items():
        target, draft = map(known_model, pair)
        for rate in RATES:
            yield name, rate, [fastest(gains(target, draft, chip, texts, rate)) for texts in TEXTS]


def draw(file: Path) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for name, rate, best in predictions():
        axes.plot(TEXTS, [gain for gain, _ in best], "o--", label=f"{name}, {rate:.0%} accepted")
    axes.plot(*zip(*MEASURED.items(), strict=True), "ks-", label="2 CPU cores, measured: SmolLM2-135M")
    axes.set_title(f"dashed: predicted for an {CHIP}, not measured", loc="left", fontsize="medium")
    axes.axhline(1, color="grey", linewidth=0.8)
    axes.set_xscale("log", base=2)
    axes.set_xticks(TEXTS, map(str, TEXTS))
    axes.set(xlabel="texts at once", ylabel="speed with drafting / without", ylim=(0.8, None))
    figure.legend(loc="outside lower center", ncols=2)
    with rc_context({"svg.hashsalt": file.name}):  # the same file each time
        figure.savefig(file, metadata={"Date": None})


def gains(target: Model, draft: Model, chip: Chip, texts: int, rate: float) -> list[float]:
    """Speeds at draft lengths 0, 1, 2, ..., relative to plain decoding."""
    plain, step = batch_seconds(target, chip, texts, 1), batch_seconds(draft, chip, texts, 1)
    found = [1.0]
    for length in range(1, min(LONGEST_DRAFT, TILE // texts - 1) + 1):
        seconds = length * step + batch_seconds(target, chip, texts, length + 1) + ROUND_SECONDS
        found.append(expected_tokens(rate, length) * plain / seconds)
    return found


def batch_seconds(of: Model, chip: Chip, texts: int, rows: int) -> float:
    """Seconds of one pass over `rows` rows of each text."""
    keys = pass_seconds(of, chip) - pass_seconds(of, chip, context=0)
    return pass_seconds(of, chip, rows=texts * rows) + (texts - 1) * keys


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("picture", type=Path, nargs="*", help="a file to draw it into")
    for picture in parser.parse_args().picture:
        draw(picture)
    print("\n".join(lines()))
