"""Fits the roofline to published speeds: `python -m benchmarks.calibration`.

Writes models/speed/fitted.toml (three constants and the errors) and docs/roofline.md (every row).
The error shown to users is held out: each chip is predicted by constants fitted without it.
"""

import argparse
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import blocks_on_macs, heads_on_macs
from benchmarks.known_models import known_model
from models.speed.chips import Chip, find_chip
from models.speed.roofline import (
    Constants,
    acceptance_of,
    expected_tokens,
    pass_seconds,
    rate_of_share,
    round_seconds,
)

DOCUMENT = Path(__file__).parents[1] / "docs" / "roofline.md"
FITTED = Path(__file__).parents[1] / "models" / "speed" / "fitted.toml"
PAGE = Path(__file__).with_name("roofline_page.md")
MEASUREMENTS = Path(__file__).with_name("measurements.toml")

SHORT_CONTEXT = 256
"""Tokens of context, if a source does not say."""
DEFAULT_LENGTH = 2
"""mlx-lm's default draft length, if a source does not say."""
COVERED = 0.8
"""Share of the held-out plain speeds that the error given to users covers."""
STEPS = 20
"""Iterations of reweighting; it converges within eight."""
SMALLEST = 0.03
"""Relative errors below this get no further weight."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One published speed."""

    chip: Chip
    model: str
    format: str
    speed: float
    """Tokens per second, or rounds per second if `is_round`."""
    is_round: bool
    context: int
    draft: str | None
    draft_format: str | None
    length: int
    rate: float | None
    """Acceptance rate; None if not published."""
    source: str
    note: str

    @property
    def pair(self) -> str:
        target = f"{self.model} {self.format}"
        return f"{target} + {self.draft} {self.draft_format}, {self.length}" if self.draft else target


@dataclass(frozen=True, slots=True)
class Row:
    """A published speed with its predictions."""

    measured: Measured
    predicted: float
    held_out: float | None = None
    """Predicted by constants fitted without the chip; plain speeds only."""

    @property
    def error(self) -> float:
        return self.predicted / self.measured.speed - 1

    @property
    def held_out_error(self) -> float:
        assert self.held_out is not None
        return self.held_out / self.measured.speed - 1


@cache
def all_measured() -> tuple[Measured, ...]:
    return tuple(_measured(table) for table in _tables()["measured"])


def fit(measured: Sequence[Measured]) -> Constants:
    """The constants with the least relative error over plain speeds.

    Seconds per token are linear in three terms: time at full bandwidth, layers, special layers. Least
    squares, reweighted towards least absolute errors, so that single outliers do not matter.
    """
    times = np.array([_terms(m) for m in measured]) * np.array([[m.speed] for m in measured])
    weights = np.ones(len(times))
    found = np.zeros(3)
    for _ in range(STEPS):
        found = np.linalg.lstsq(times * weights[:, None], weights, rcond=None)[0]
        weights = 1 / np.sqrt(np.maximum(np.abs(times @ found - 1), SMALLEST))
    bandwidth, layer, special = (float(term) for term in found)
    return Constants(round(1 / bandwidth, 3), round(layer, 7), round(special, 7))


def plain_rows() -> list[Row]:
    """Every plain speed, predicted by constants fitted to all, and by constants fitted without its chip."""
    plain = _all_plain()
    constants = fit(plain)
    without = {m.chip.name: fit([other for other in plain if other.chip.name != m.chip.name]) for m in plain}
    rows = []
    for m in plain:
        predicted, held_out = (1 / _plain_seconds(m, c) for c in (constants, without[m.chip.name]))
        rows.append(Row(m, predicted, held_out))
    return rows


def drafted_rows(constants: Constants) -> list[Row]:
    """Every drafted speed, predicted with its own acceptance rate or, if not published, the family's."""
    rows = []
    for m in all_measured():
        if m.draft is not None and m.draft_format is not None:
            target, draft = known_model(m.model, m.format), known_model(m.draft, m.draft_format)
            seconds = round_seconds(target, draft, m.chip, m.length, m.context, constants)
            tokens = 1.0 if m.is_round else expected_tokens(m.rate or _family_rate(m.model), m.length)
            rows.append(Row(m, tokens / seconds))
    return rows


def write() -> None:
    """Fit, then write both files."""
    FITTED.write_text(fitted_text())
    DOCUMENT.write_text(document())


def document() -> str:
    """docs/roofline.md, from the data alone."""
    constants = fit(_all_plain())
    plain, drafted = plain_rows(), drafted_rows(constants)
    held = [abs(row.held_out_error) for row in plain]
    of_drafted = sorted(row.error for row in drafted)
    return PAGE.read_text().format(
        share=constants.bandwidth_share,
        layer=constants.layer_seconds * 1e6,
        special=constants.special_layer_seconds * 1e6,
        plain_count=len(plain),
        chips=len({row.measured.chip.name for row in plain}),
        plain_median=median(abs(row.error) for row in plain),
        held_median=median(held),
        plain_error=_covering(held),
        plain_worst=max((row.held_out_error for row in plain), key=abs),
        plain_lines="\n".join(map(_plain_line, plain)),
        length=DEFAULT_LENGTH,
        drafted_count=len(drafted),
        drafted_median=median(map(abs, of_drafted)),
        drafted_lowest=of_drafted[0],
        drafted_highest=of_drafted[-1],
        drafted_bias=median(of_drafted),
        drafted_error=_covering([abs(error) for error in of_drafted]),
        drafted_lines="\n".join(map(_drafted_line, drafted)),
        head_lines="\n".join(heads_on_macs.lines()),
        block_summary=blocks_on_macs.summary(),
        block_error=_block_error(),
        block_lines="\n".join(blocks_on_macs.lines()),
        left_out="\n".join(f"- {left['what']}: {left['why']}." for left in _tables()["left_out"]),
    )


def fitted_text() -> str:
    """models/speed/fitted.toml, from the data alone."""
    plain = plain_rows()
    constants = fit([row.measured for row in plain])
    drafted = drafted_rows(constants)
    return f"""# Written by `python -m benchmarks.calibration`. Do not edit.

# Four of five predictions are off by at most this share of the published value. plain: speeds, each chip held
# out; drafted: speeds with a draft model; block: gains of blocks and MTP layers.
plain_error = {_covering([abs(row.held_out_error) for row in plain]):.2f}
drafted_error = {_covering([abs(row.error) for row in drafted]):.2f}
block_error = {_block_error():.2f}

[constants]
bandwidth_share = {constants.bandwidth_share}
layer_seconds = {constants.layer_seconds:.7f}
special_layer_seconds = {constants.special_layer_seconds:.7f}
"""


def _block_error() -> float:
    return _covering([abs(row.error) for row in blocks_on_macs.rows()])


def _covering(errors: Sequence[float]) -> float:
    """The error that the share `COVERED` of them does not exceed."""
    return sorted(errors)[ceil(COVERED * len(errors)) - 1]


def _plain_line(row: Row) -> str:
    m = row.measured
    source = f"{m.source} ({m.note})" if m.note else m.source
    return (
        f"| {m.chip.name} | {m.pair} | {m.speed:.1f} | {row.predicted:.1f} | {row.error:+.0%} "
        f"| {row.held_out_error:+.0%} | {source} |"
    )


def _drafted_line(row: Row) -> str:
    m = row.measured
    source = f"{m.source} ({m.note})" if m.note else m.source
    if m.is_round:
        speeds, rate = f"{1000 / m.speed:.1f} ms a round | {1000 / row.predicted:.1f} ms", "not needed"
    else:
        speeds = f"{m.speed:.1f} tokens/s | {row.predicted:.1f}"
        rate = f"{m.rate:.2f}" if m.rate else f"{_family_rate(m.model):.2f}, not theirs"
    return f"| {m.chip.name} | {m.pair} | {speeds} | {row.error:+.0%} | {rate} | {source} |"


def _all_plain() -> list[Measured]:
    return [m for m in all_measured() if m.draft is None]


def _terms(m: Measured) -> tuple[float, float, float]:
    """The factors of the three constants: seconds at full bandwidth, layers, special layers."""
    shape = known_model(m.model, m.format).shape
    full = _plain_seconds(m, Constants(1.0, 0.0, 0.0))
    return full, float(shape.layers), float(shape.special_layers)


def _plain_seconds(m: Measured, constants: Constants) -> float:
    return pass_seconds(known_model(m.model, m.format), m.chip, context=m.context, constants=constants)


def _family_rate(model: str) -> float:
    families = {"qwen3": "qwen3-", "qwen2.5": "qwen2.5-", "r1-distill": "r1-distill-qwen"}
    family = next((name for name, part in families.items() if part in model.lower()), "")
    return acceptance_of(family).middle


def _measured(table: dict) -> Measured:
    length = table.get("length", DEFAULT_LENGTH)
    rate = table.get("rate")
    if "accepted" in table:
        rate = rate_of_share(table["accepted"], length)
    is_round = "round_milliseconds" in table
    return Measured(
        chip=find_chip(table["chip"], table.get("gpu_cores")),
        model=table["model"],
        format=table["format"],
        speed=1000 / table["round_milliseconds"] if is_round else table["tokens_per_second"],
        is_round=is_round,
        context=table.get("context", SHORT_CONTEXT),
        draft=table.get("draft"),
        draft_format=table.get("draft_format"),
        length=length if "draft" in table else 0,
        rate=rate,
        source=table["source"],
        note=table.get("note", ""),
    )


@cache
def _tables() -> dict:
    return tomllib.loads(MEASUREMENTS.read_text())


if __name__ == "__main__":
    argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__).parse_args()
    write()
    print(f"Wrote {FITTED.name} and {DOCUMENT.name}.")
