"""Predicted decoding speed on a Mac, before anything is downloaded or measured.

A pass reads all weights and the context's keys and values once, at a share of the memory bandwidth, and
launches the kernels of every layer. A round is `length` passes of the draft and one verify pass of the target
over length + 1 rows, whose extra cost follows a published curve. Three constants are fitted to published
speeds (benchmarks/calibration.py, fitted.toml); docs/roofline.md shows how well they fit.

Pure functions of tables; imports no MLX.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

from models.files import shipped_table
from models.pairs.catalogue import BUILTIN_PAIR, Pair, find
from models.pairs.drafter_kinds import MODEL
from models.pairs.installed import draft_kind
from models.pairs.pair import Source
from models.speed.chips import Chip

CONTEXT = 1024
"""Tokens of context for which speeds are predicted."""
LONGEST_DRAFT = 8
ROUND_SECONDS = 0.25e-3
"""Host time per round: the least that a read costs (ml-explore/mlx#4265, M3 Ultra)."""
_table = partial(shipped_table, __file__)


@dataclass(frozen=True, slots=True)
class Constants:
    """Fitted: the reached share of the memory bandwidth, the time to launch a layer's kernels, and the extra
    time for a special layer: experts, a recurrent state, or norms on both sides.
    """

    bandwidth_share: float
    layer_seconds: float
    special_layer_seconds: float


@dataclass(frozen=True, slots=True)
class Shape:
    """What decoding one token reads of a model: an entry of shapes.toml, which describes the fields."""

    names: list[str]
    parameters: float
    layers: int
    kv: int
    experts: int = 0
    recurrent: int = 0
    sandwich: int = 0

    @property
    def special_layers(self) -> int:
        """Layers that launch more kernels than Llama's; a layer special in two ways counts twice."""
        return self.experts + self.recurrent + self.sandwich


@dataclass(frozen=True, slots=True)
class Model:
    """A stored model; bits per weight include scales."""

    shape: Shape
    bits: float


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A published acceptance rate: the chance that a drafted token is accepted if all before it were."""

    family: str
    category: str
    rate: float
    source: str


@dataclass(frozen=True, slots=True)
class AcceptanceRange:
    """Acceptance rates of a family; `published` is False if none are known, then those of all others."""

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
    """Predicted decoding speed of a pair on a chip, in tokens per second.

    Four of five published speeds lie within such ranges. `drafted` is the speed at the family's median
    acceptance rate, at its best draft length. Its range covers the family's lowest and highest rates, each at
    its own best length, but not less than plain's, because `auto` falls back to plain. Length 0: drafting
    does not pay; None: there is no draft model.
    """

    chip: Chip
    plain: float
    plain_range: tuple[float, float]
    drafted: float
    drafted_range: tuple[float, float]
    length: int | None
    acceptance: AcceptanceRange
    categories: tuple[Category, ...]


def expect(pair: Pair, chip: Chip) -> Expectation | None:
    """The prediction for a pair; None if a model's shape or format is unknown."""
    own = pair.draft if draft_kind(pair.spec) == MODEL else None
    target, draft = (source and model_of(source, pair.quantization) for source in (pair.target, own))
    if target is None or (own and draft is None):
        return None
    rate = acceptance_of(pair.family)
    plain = 1 / pass_seconds(target, chip)
    plain_range = _around(plain, _table("fitted.toml")["plain_error"])
    if draft is None:  # the gain from lookup, heads and PARD's one pass is not predicted here
        return Expectation(chip, plain, plain_range, plain, plain_range, None, rate, ())
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
    """A pair's model; None if its shape or format is unknown."""
    name = Path(source.repo).name if source.is_local else source.repo
    # The built-in models are local folders; shapes.toml has them by their names in the catalogue.
    shape = find_shape(f"builtin/{name}" if source in find(BUILTIN_PAIR).spec.sources else name)
    formats = _table("roofline.toml")["formats"]
    return Model(shape, formats[quantization]) if shape and quantization in formats else None


def drafted_range(
    plain: float, drafted: float, lowest: float, highest: float, error: str = "drafted_error"
) -> tuple[float, float]:
    """The range of a predicted speed: it covers the prediction error (a key of fitted.toml) and the speeds at
    the lowest and highest acceptance rate, but not less than plain's range."""
    low, high = _around(drafted, _table("fitted.toml")[error])
    least = _around(plain, _table("fitted.toml")["plain_error"])[0]
    return max(min(low, lowest), least), max(high, highest)


def _around(predicted: float, error: float) -> tuple[float, float]:
    """The speeds for which the prediction would be off by exactly this share, too high or too low."""
    return predicted / (1 + error), predicted / (1 - error)


def _best(target: Model, draft: Model, chip: Chip, rate: float) -> tuple[float, int]:
    """The highest speed in tokens per second, and its draft length; 0: plain decoding."""
    lengths = range(1, LONGEST_DRAFT + 1)
    drafted = (expected_tokens(rate, k) / round_seconds(target, draft, chip, k) for k in lengths)
    return fastest([1 / pass_seconds(target, chip), *drafted])


def fastest(speeds: Sequence[float]) -> tuple[float, int]:
    """The highest speed and its draft length, from speeds by draft length."""
    return max(speeds), speeds.index(max(speeds))


def round_seconds(
    target: Model,
    draft: Model,
    chip: Chip,
    length: int,
    context: int = CONTEXT,
    constants: Constants | None = None,
) -> float:
    """Seconds of a round with this draft length: the draft's steps, the verify pass, the host's read."""
    steps = length * pass_seconds(draft, chip, context=context, constants=constants)
    verify = pass_seconds(target, chip, rows=length + 1, context=context, constants=constants)
    return steps + verify + ROUND_SECONDS


def pass_seconds(
    model: Model, chip: Chip, *, rows: int = 1, context: int = CONTEXT, constants: Constants | None = None
) -> float:
    """Seconds of one pass over `rows` tokens after `context` others."""
    known = constants or fitted()
    bandwidth = known.bandwidth_share * chip.bandwidth * 1e9
    weights = model.shape.parameters * 1e9 * model.bits / 8 / bandwidth
    cache_rows = model.shape.kv * context / bandwidth
    return weights * verify_cost(model, chip, rows) + cache_rows + launch_seconds(model, known)


def launch_seconds(model: Model, constants: Constants) -> float:
    """Seconds to launch the kernels of a pass, however little it reads."""
    special = model.shape.special_layers * constants.special_layer_seconds
    return model.shape.layers * constants.layer_seconds + special


def verify_cost(model: Model, chip: Chip, rows: int) -> float:
    """Cost of a pass over several rows, relative to one row.

    For more bits per weight than measured it is inferred: a further row costs arithmetic on the unpacked
    weights, the same in all formats, so its relative cost falls as more bytes are read.
    """
    has_experts = bool(model.shape.experts)
    curves = _table("roofline.toml")["verify"]
    curve = next(c for c in curves if chip.generation in c["generations"] and c["experts"] == has_experts)
    cost = _on_line(curve["rows"], curve["cost"], rows)
    return 1 + (cost - 1) * min(1.0, curve.get("weights", model.bits) / model.bits)


def _on_line(xs: list[float], ys: list[float], x: float) -> float:
    """Linear interpolation between points; past the last one with the last slope."""
    place = next((i for i in range(1, len(xs)) if x <= xs[i]), len(xs) - 1)
    return ys[place] + (ys[place] - ys[place - 1]) / (xs[place] - xs[place - 1]) * (x - xs[place])


def acceptance_of(family: str) -> AcceptanceRange:
    """The range of a family's published rates, or without any, of all families but the built-in pair's."""
    own = [a.rate for a in all_acceptances() if a.family == family]
    rates = own or [a.rate for a in all_acceptances() if a.family != BUILTIN_PAIR]
    return AcceptanceRange(min(rates), median(rates), max(rates), bool(own))


def expected_tokens(rate: float, length: int) -> float:
    """Mean tokens per round with this draft length: accepted and bonus (Leviathan, arXiv 2211.17192)."""
    return sum(rate**i for i in range(length + 1))


def rate_of_share(share: float, length: int) -> float:
    """The acceptance rate at which `share` of an answer's tokens are drafted ones, at this draft length."""
    return rate_of_tokens(1 / (1 - share), length)


def rate_of_tokens(tokens: float, length: int) -> float:
    """The acceptance rate at which a round of this draft length yields this many tokens, by bisection."""
    steps = 2**40
    return bisect_left(range(steps), tokens, key=lambda i: expected_tokens(i / steps, length)) / steps


@cache
def all_acceptances() -> tuple[Acceptance, ...]:
    """The rates of roofline.toml, converted from shares of the answer and accepted tokens per round."""
    tables = _table("roofline.toml")["acceptance"]
    return tuple(Acceptance(t["family"], t["category"], _rate(t), t["source"]) for t in tables)


def _rate(table: dict[str, Any]) -> float:
    if "share" in table:
        return round(rate_of_share(table["share"], table["length"]), 3)
    if "accepted" in table:
        return round(rate_of_tokens(1 + table["accepted"], table["length"]), 3)
    return table["rate"]


def find_shape(model: str) -> Shape | None:
    """The shape by repository or model name; None if unknown."""
    tables = _table("shapes.toml")["shape"]
    found = [(len(part), table) for table in tables for part in table["names"] if part in model.lower()]
    return Shape(**max(found, key=lambda item: item[0])[1]) if found else None


def format_bits(name: str) -> float:
    """Bits per weight of `4-bit`, `bf16`, ..., scales included."""
    return float(_table("roofline.toml")["formats"][name])


def fitted() -> Constants:
    """The constants of fitted.toml."""
    return Constants(**_table("fitted.toml")["constants"])
