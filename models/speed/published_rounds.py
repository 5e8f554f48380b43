"""What heads, blocks and layers for a target should bring on a Mac: a prediction, as in roofline.py.

- EAGLE-3 (Li et al. 2025, arXiv 2503.01840): one layer over the target's own features, outputs of three of
  its layers joined by `fc`, and a head of its own over the target's most frequent tokens. Its first pass has
  length + 1 rows of features and gives the first drafted token; each further token is one row without `fc`.
- MTP: one layer of the target's kind, read once per drafted token together with the target's output rows;
  its first pass has length + 1 rows.
- DFlash, DFlash2, DSpark: one pass of the block's layers and of the target's output rows over the block;
  DSpark reads its table of pairs once more per token. DFlash2's convolutions and choice are left out: small.
- Gemma 4's assistants: four layers and output rows of their own per drafted token; keys and values are the
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
"""Layers of the target that an EAGLE-3 head reads, where it does not say otherwise."""
BLOCK_LAYERS = 5
"""Of z-lab's and DeepSpec's blocks, each of which also reads this many layers of the target."""
ASSISTANT_LAYERS = 4
"""Of Gemma 4's assistants; the last attends to all of the text with heads twice as wide."""
TABLE_RANK = 256
"""Of DSpark's table (DeepSpec's markov_rank)."""


@dataclass(frozen=True, slots=True)
class Gain:
    """Tokens per second, predicted; the range as `models.speed.roofline.Expectation` has it."""

    speed: float
    range: tuple[float, float]
    length: int
    """Drafted per round; 0: drafting should not pay."""


def predicted(drafter: Published, target: Model, chip: Chip, error: str = "block_error") -> Gain | None:
    """At the middle of the published acceptances; None without any, or without its sizes. `error`: the name
    in fitted.toml of how far such predictions are off."""
    if drafter.layout is None or not drafter.rounds:
        return None
    found = sorted(best(drafter, each, target, chip) for each in drafter.rounds)
    speed, length = found[(len(found) - 1) // 2]
    plain = 1 / pass_seconds(target, chip)
    if len(found) % 2 == 0 and length:
        speed = median(each[0] for each in found)
    return Gain(speed, drafted_range(plain, speed, found[0][0], found[-1][0], error), length)


def weight_bytes(drafter: Published) -> int | None:
    """Of its file, as published, else computed with 16 bits per weight; None without its sizes."""
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
    """Of a round that drafts `length`: the accepted ones and the bonus. Where only the mean of a round is
    published, each token is accepted with the same chance, given those before."""
    if known.accepted:
        return 1 + sum(known.accepted[:length])
    a_round = known.tokens or 1 + known.rate * known.drafted
    return expected_tokens(rate_of_tokens(a_round, known.drafted), length)


def best(
    drafter: Published, known: Round, target: Model, chip: Chip, context: int = CONTEXT
) -> tuple[float, int]:
    """The most tokens per second, and the draft length that brings them; 0: drafting should not pay."""
    lengths = range(1, (len(known.accepted) or known.drafted) + 1)
    drafted = (tokens(known, k) / round_seconds(drafter, target, chip, k, context) for k in lengths)
    return fastest([1 / pass_seconds(target, chip, context=context), *drafted])


def round_seconds(
    drafter: Published, target: Model, chip: Chip, length: int, context: int = CONTEXT
) -> float:
    """A round that drafts `length` tokens. The drafter has a layout."""
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
    """Of what is in the drafter's file; embeddings are the target's, and output rows but an assistant's."""
    if drafter.kind == EAGLE:
        return step_parameters(drafter, layout) + _fc(drafter, layout)
    if drafter.kind == "mtp":  # two vectors are joined; queries come with a gate of their size
        return 2 * layout.hidden**2 + _layer(layout, queries=2)
    if drafter.kind == "assistant":
        return _assistant(layout)
    # DSpark's table is two matrices: of the token before, and of the next.
    return BLOCK_LAYERS * (layout.hidden**2 + _layer(layout)) + 2 * _table(drafter, layout)


def step_parameters(drafter: Published, layout: Layout) -> int:
    """What a drafted token reads of an EAGLE-3 head. Queries, keys, values are of embedding and feature."""
    more_inputs = layout.hidden * (layout.heads + 2 * layout.kv_heads) * layout.head_dim
    return _layer(layout) + more_inputs + (drafter.vocab or layout.vocab) * layout.hidden


def _fc(drafter: Published, layout: Layout) -> int:
    return (drafter.taps or TAPS) * layout.hidden**2


def _table(drafter: Published, layout: Layout) -> int:
    return TABLE_RANK * layout.vocab if drafter.kind == "dspark" else 0


def _assistant(layout: Layout) -> int:
    """Queries alone; two vectors of the target's width are read, and one is given back."""
    attention = 2 * (ASSISTANT_LAYERS + 1) * layout.heads * layout.head_dim
    rows = layout.vocab + 3 * layout.target + attention + 3 * ASSISTANT_LAYERS * layout.intermediate
    return layout.hidden * rows


def _layer(layout: Layout, *, queries: int = 1) -> int:
    """Queries, keys, values and output; gate, up and down."""
    attention = (queries + 1) * layout.heads + 2 * layout.kv_heads
    return layout.hidden * (attention * layout.head_dim + 3 * layout.intermediate)
