"""What decoding speed to expect on a Mac, before anything is downloaded: a prediction, never a measurement.

A pass reads all weights and the context's keys and values once, at a share of the memory's bandwidth, and
launches the kernels of every layer. A round of drafting is `length` passes of the draft and one of the target
over length + 1 rows, which costs more than one row by a published curve. Three constants are fitted to
published speeds (benchmarks/calibration.py, fitted.toml); docs/roofline.md shows how well they fit.

Pure functions of tables; imports no MLX.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from models.pairs.catalogue import BUILTIN_PAIR, Pair
from models.pairs.pair import Source
from models.speed.chips import Chip

CONTEXT = 1024
"""Tokens read before, for which speeds are given."""
LONGEST_DRAFT = 8
ROUND_SECONDS = 0.25e-3
"""Of the host, once a round: what a read costs at least (ml-explore/mlx#4265, M3 Ultra)."""


@dataclass(frozen=True, slots=True)
class Constants:
    """Fitted: the share of the memory's bandwidth that is reached, the launch of a layer's kernels, and more
    for a layer with experts, a recurrent state or norms on both sides.
    """

    bandwidth_share: float
    layer_seconds: float
    special_layer_seconds: float


@dataclass(frozen=True, slots=True)
class Shape:
    """What one decoded token reads of a model: one entry of shapes.toml, which explains the fields."""

    names: list[str]
    parameters: float
    layers: int
    kv: int
    experts: int = 0
    recurrent: int = 0
    sandwich: int = 0

    @property
    def special_layers(self) -> int:
        """Layers that launch more kernels than Llama's; one that is special twice counts twice."""
        return self.experts + self.recurrent + self.sandwich


@dataclass(frozen=True, slots=True)
class Model:
    """A model as it is stored; bits per weight include scales."""

    shape: Shape
    bits: float


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A published chance that a drafted token is accepted, given that those before it in the round were."""

    family: str
    category: str
    rate: float
    source: str


@dataclass(frozen=True, slots=True)
class AcceptanceRange:
    """Of a family; where nothing was published for it, of all others."""

    low: float
    middle: float
    high: float
    published: bool


@dataclass(frozen=True, slots=True)
class Category:
    """The prediction for one kind of text with a published acceptance."""

    category: str
    acceptance: float
    drafted: float
    length: int
    source: str


@dataclass(frozen=True, slots=True)
class Expectation:
    """Predicted tokens per second of a pair on a chip, while decoding.

    Four of five published speeds lie within such ranges. `drafted` is at the middle of the family's
    acceptances and the best length for it; its range is as wide as these acceptances, each at its own best
    length, and not below plain's, because `auto` falls back to plain. Length 0: drafting should not pay.
    """

    chip: Chip
    plain: float
    plain_range: tuple[float, float]
    drafted: float
    drafted_range: tuple[float, float]
    length: int
    acceptance: AcceptanceRange
    categories: tuple[Category, ...]


def expect(pair: Pair, chip: Chip) -> Expectation | None:
    """The prediction for a pair; None where we do not know the models' shapes or format."""
    target, draft = (source and model_of(source, pair.quantization) for source in (pair.target, pair.draft))
    if target is None or (pair.draft and draft is None):
        return None
    rate = acceptance_of(pair.family)
    plain = 1 / pass_seconds(target, chip)
    plain_range = _around(plain, _table("fitted")["plain_error"])
    if draft is None:  # what lookup finds to copy is not predicted
        return Expectation(chip, plain, plain_range, plain, plain_range, 0, rate, ())
    drafted, length = _best(target, draft, chip, rate.middle)
    within = plain_range
    if length:
        lowest, highest = (_best(target, draft, chip, r)[0] for r in (rate.low, rate.high))
        within = drafted_range(plain, drafted, lowest, highest)
    categories = tuple(
        Category(a.category, a.rate, *_best(target, draft, chip, a.rate), a.source)
        for a in all_acceptances()
        if a.family == pair.family
    )
    return Expectation(chip, plain, plain_range, drafted, within, length, rate, categories)


def model_of(source: Source, quantization: str) -> Model | None:
    """A pair's model; None where we do not know its shape or format."""
    # The built-in models live in folders, which say nothing; the catalogue's names do.
    shape = find_shape(f"builtin/{Path(source.repo).name}" if source.is_local else source.repo)
    formats = _table("roofline")["formats"]
    return Model(shape, formats[quantization]) if shape and quantization in formats else None


def drafted_range(
    plain: float, drafted: float, lowest: float, highest: float, error: str = "drafted_error"
) -> tuple[float, float]:
    """As wide as this error of fitted.toml and as the speeds of the least and the most acceptance, and not
    below plain's."""
    low, high = _around(drafted, _table("fitted")[error])
    least = _around(plain, _table("fitted")["plain_error"])[0]
    return max(min(low, lowest), least), max(high, highest)


def _around(predicted: float, error: float) -> tuple[float, float]:
    """The speeds of which the prediction is off by at most this share."""
    return predicted / (1 + error), predicted / (1 - error)


def _best(target: Model, draft: Model, chip: Chip, rate: float) -> tuple[float, int]:
    """The most tokens per second, and the draft length that brings them."""
    lengths = range(1, LONGEST_DRAFT + 1)
    drafted = (expected_tokens(rate, k) / round_seconds(target, draft, chip, k) for k in lengths)
    return fastest([1 / pass_seconds(target, chip), *drafted])


def fastest(speeds: Sequence[float]) -> tuple[float, int]:
    """The highest speed and its draft length, of speeds by draft length."""
    return max(speeds), speeds.index(max(speeds))


def round_seconds(
    target: Model,
    draft: Model,
    chip: Chip,
    length: int,
    context: int = CONTEXT,
    constants: Constants | None = None,
) -> float:
    """A round that drafts `length` tokens: the draft's steps, the target's pass, the host's read."""
    steps = length * pass_seconds(draft, chip, context=context, constants=constants)
    verify = pass_seconds(target, chip, rows=length + 1, context=context, constants=constants)
    return steps + verify + ROUND_SECONDS


def pass_seconds(
    model: Model, chip: Chip, *, rows: int = 1, context: int = CONTEXT, constants: Constants | None = None
) -> float:
    """One pass over `rows` tokens after `context` others."""
    known = constants or fitted()
    bandwidth = known.bandwidth_share * chip.bandwidth * 1e9
    weights = model.shape.parameters * 1e9 * model.bits / 8 / bandwidth
    cache_rows = model.shape.kv * context / bandwidth
    return weights * verify_cost(model, chip, rows) + cache_rows + launch_seconds(model, known)


def launch_seconds(model: Model, constants: Constants) -> float:
    """What a pass takes however little there is to read."""
    special = model.shape.special_layers * constants.special_layer_seconds
    return model.shape.layers * constants.layer_seconds + special


def verify_cost(model: Model, chip: Chip, rows: int) -> float:
    """Reading the weights for several rows, relative to one row.

    Inferred for other bits per weight than were measured: what a further row costs is arithmetic on the
    unpacked weights and the same for all formats, so it weighs less the more there is to read.
    """
    has_experts = bool(model.shape.experts)
    curves = _table("roofline")["verify"]
    curve = next(c for c in curves if chip.generation in c["generations"] and c["experts"] == has_experts)
    cost = _on_line(curve["rows"], curve["cost"], rows)
    return 1 + (cost - 1) * min(1.0, curve.get("weights", model.bits) / model.bits)


def _on_line(xs: list[float], ys: list[float], x: float) -> float:
    """Between the points on a line; past the last one with the last line's slope."""
    place = next((i for i in range(1, len(xs)) if x <= xs[i]), len(xs) - 1)
    slope = (ys[place] - ys[place - 1]) / (xs[place] - xs[place - 1])
    return ys[place] + slope * (x - xs[place])


def acceptance_of(family: str) -> AcceptanceRange:
    """The range of a family's published rates, or of all models but the built-in pair's."""
    own = [a.rate for a in all_acceptances() if a.family == family]
    rates = own or [a.rate for a in all_acceptances() if a.family != BUILTIN_PAIR]
    return AcceptanceRange(min(rates), median(rates), max(rates), bool(own))


def expected_tokens(rate: float, length: int) -> float:
    """Tokens of a round that drafts `length`: the accepted ones and the bonus (Leviathan, 2211.17192)."""
    return sum(rate**i for i in range(length + 1))


def rate_of_share(share: float, length: int) -> float:
    """The rate at which `share` of an answer's tokens are drafted ones, with rounds of this length."""
    return rate_of_tokens(1 / (1 - share), length)


def rate_of_tokens(tokens: float, length: int) -> float:
    """The rate at which a round that drafts `length` brings this many tokens, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_tokens(middle, length) < tokens else (low, middle)
    return low


@cache
def all_acceptances() -> tuple[Acceptance, ...]:
    """Those of roofline.toml, which has them as rates, shares of the answer or accepted tokens a round."""
    tables = _table("roofline")["acceptance"]
    return tuple(Acceptance(t["family"], t["category"], _rate(t), t["source"]) for t in tables)


def _rate(table: dict[str, Any]) -> float:
    if "share" in table:
        return round(rate_of_share(table["share"], table["length"]), 3)
    if "accepted" in table:
        return round(rate_of_tokens(1 + table["accepted"], table["length"]), 3)
    return table["rate"]


def find_shape(model: str) -> Shape | None:
    """The shape of a repository, folder or model name; None where we do not know it."""
    tables = _table("shapes")["shape"]
    found = [(len(part), table) for table in tables for part in table["names"] if part in model.lower()]
    return Shape(**max(found, key=lambda item: item[0])[1]) if found else None


def format_bits(name: str) -> float:
    """Bits per weight of `4-bit`, `bf16`, ..., scales included."""
    return float(_table("roofline")["formats"][name])


def fitted() -> Constants:
    """The constants of fitted.toml."""
    return Constants(**_table("fitted")["constants"])


@cache
def _table(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text())
