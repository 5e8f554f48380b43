"""Predicted speeds of published heads, blocks and MTP layers on a Mac, by the model of roofline.py.

- EAGLE-3 (Li et al. 2025, arXiv 2503.01840): one layer over the target's own features, outputs of three of
  its layers joined by `fc`, and a head of its own over the target's most frequent tokens. Its first pass has
  length + 1 rows of features and gives the first drafted token; each further token is one row without `fc`.
- MTP: one layer like the target's, read once per drafted token together with the target's output matrix;
  its first pass has length + 1 rows.
- DFlash, DFlash2, DSpark: one pass of the block's layers and the target's output matrix over the block;
  DSpark also reads its Markov table once per token. DFlash2's convolutions and selector are small: ignored.
- Gemma 4's assistants: four layers and their own output matrix per drafted token; keys and values are the
  target's.

Pure functions of tables; imports no MLX.
"""

from dataclasses import dataclass
from statistics import median

from models.pairs.drafter_kinds import PARD
from models.pairs.published import Layout, Published, Round
from models.speed.chips import Chip
from models.speed.roofline import (
    CONTEXT,
    ROUND_SECONDS,
    Model,
    Shape,
    drafted_range,
    expected_tokens,
    fastest,
    find_shape,
    pass_seconds,
    rate_of_tokens,
)

EAGLE = "eagle"
TAPS = 3
"""Default number of the target's layers that an EAGLE-3 head reads."""
BLOCK_LAYERS = 5
"""Layers of z-lab's and DeepSpec's blocks; they also read this many layers of the target."""
ASSISTANT_LAYERS = 4
"""Layers of Gemma 4's assistants; the last has full attention, with heads twice as wide."""
TABLE_RANK = 256
"""Rank of DSpark's Markov table (DeepSpec's markov_rank)."""


@dataclass(frozen=True, slots=True)
class Gain:
    """A predicted speed in tokens per second; `range` as in `models.speed.roofline.Expectation`."""

    speed: float
    range: tuple[float, float]
    length: int
    """Draft length; 0: drafting does not pay."""


def predicted(drafter: Published, target: Model, chip: Chip, error: str = "block_error") -> Gain | None:
    """The prediction at the median of the published acceptances; None without any, or without a layout.

    `error`: the key in fitted.toml of the prediction error."""
    if drafter.layout is None or not drafter.rounds:
        return None
    found = sorted(best(drafter, each, target, chip) for each in drafter.rounds)
    speed, length = found[(len(found) - 1) // 2]
    plain = 1 / pass_seconds(target, chip)
    if len(found) % 2 == 0 and length:
        speed = median(each[0] for each in found)
    return Gain(speed, drafted_range(plain, speed, found[0][0], found[-1][0], error), length)


def weight_bytes(drafter: Published) -> int | None:
    """Bytes of its file, as published, else computed at 16 bits per weight; None without a layout."""
    if drafter.bytes is not None:
        return drafter.bytes
    if drafter.kind == PARD:
        shape = find_shape(drafter.repo)
        return int(shape.parameters * 2e9) if shape else None
    if drafter.layout is None:
        return None
    copies = drafter.copies * drafter.layout.vocab * drafter.layout.hidden
    return 2 * (parameters(drafter, drafter.layout) + copies)


def tokens(known: Round, length: int) -> float:
    """Tokens of a round with this draft length: the accepted ones and the bonus. If only a round's mean is
    published, every position gets the same acceptance rate."""
    if known.accepted:
        return 1 + sum(known.accepted[:length])
    a_round = known.tokens or 1 + known.rate * known.drafted
    return expected_tokens(rate_of_tokens(a_round, known.drafted), length)


def best(
    drafter: Published, known: Round, target: Model, chip: Chip, context: int = CONTEXT
) -> tuple[float, int]:
    """The highest speed in tokens per second, and its draft length; 0: drafting does not pay."""
    lengths = range(1, (len(known.accepted) or known.drafted) + 1)
    drafted = (tokens(known, k) / round_seconds(drafter, target, chip, k, context) for k in lengths)
    return fastest([1 / pass_seconds(target, chip, context=context), *drafted])


def round_seconds(
    drafter: Published, target: Model, chip: Chip, length: int, context: int = CONTEXT
) -> float:
    """Seconds of a round with this draft length. The drafter must have a layout."""
    layout, rows = drafter.layout, length + 1
    assert layout is not None, f"published.toml has no layout for {drafter.repo}"
    kv = 2 * layout.kv_heads * layout.head_dim * 2
    output = layout.vocab * layout.hidden

    def reading(weights: int, *, rows: int = 1, layers: int = 1, context: int = context) -> float:
        shape = Shape([], weights / 1e9, layers, layers * kv)
        return pass_seconds(Model(shape, drafter.bits or target.bits), chip, rows=rows, context=context)

    verify = pass_seconds(target, chip, rows=rows, context=context) + ROUND_SECONDS
    if drafter.kind == EAGLE:
        step = step_parameters(drafter, layout)
        first = step + _fc(drafter, layout)
    elif drafter.kind == "mtp":
        step = first = parameters(drafter, layout) + output
    elif drafter.kind == "assistant":
        return verify + length * reading(parameters(drafter, layout), layers=ASSISTANT_LAYERS)
    else:
        table = _table(drafter, layout)
        block = reading(parameters(drafter, layout) - 2 * table + output, rows=rows, layers=BLOCK_LAYERS)
        return verify + block + reading(table * length, layers=0, context=0)
    return verify + reading(first, rows=rows) + (length - 1) * reading(step)


def parameters(drafter: Published, layout: Layout) -> int:
    """Parameters in the drafter's file. Embeddings are the target's, and output matrices too, except for
    EAGLE-3 heads and assistants."""
    if drafter.kind == EAGLE:
        return step_parameters(drafter, layout) + _fc(drafter, layout)
    if drafter.kind == "mtp":  # `fc` joins two vectors; attention has an output gate of the queries' size
        return 2 * layout.hidden**2 + _layer(layout, queries=2)
    if drafter.kind == "assistant":
        return _assistant(layout)
    # DSpark's table is two matrices: for the previous token, and for the next.
    return BLOCK_LAYERS * (layout.hidden**2 + _layer(layout)) + 2 * _table(drafter, layout)


def step_parameters(drafter: Published, layout: Layout) -> int:
    """Parameters of an EAGLE-3 head read per drafted token. Queries, keys and values have two inputs: the
    embedding and the feature."""
    more_inputs = layout.hidden * (layout.heads + 2 * layout.kv_heads) * layout.head_dim
    return _layer(layout) + more_inputs + (drafter.vocab or layout.vocab) * layout.hidden


def _fc(drafter: Published, layout: Layout) -> int:
    return (drafter.taps or TAPS) * layout.hidden**2


def _table(drafter: Published, layout: Layout) -> int:
    return TABLE_RANK * layout.vocab if drafter.kind == "dspark" else 0


def _assistant(layout: Layout) -> int:
    """No keys and values of its own; it reads two vectors of the target's width and writes one."""
    attention = 2 * (ASSISTANT_LAYERS + 1) * layout.heads * layout.head_dim
    rows = layout.vocab + 3 * layout.target + attention + 3 * ASSISTANT_LAYERS * layout.intermediate
    return layout.hidden * rows


def _layer(layout: Layout, *, queries: int = 1) -> int:
    """Parameters of attention (queries, keys, values, output) and MLP (gate, up, down)."""
    attention = (queries + 1) * layout.heads + 2 * layout.kv_heads
    return layout.hidden * (attention * layout.head_dim + 3 * layout.intermediate)
