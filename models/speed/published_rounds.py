"""What published heads, blocks and layers should bring on a Mac: a prediction, as in roofline.py.

- EAGLE-3: `models.speed.heads`.
- MTP: one layer of the target's kind, read once per drafted token together with the target's output rows;
  its first pass has length + 1 rows.
- DFlash, DFlash2, DSpark: one pass of the block's layers and of the target's output rows over the block;
  DSpark reads its table of pairs once more per token. DFlash2's convolutions and choice are left out: small.
- Gemma 4's assistants: four layers and output rows of their own per drafted token; keys and values are the
  target's.

Weights as many bits as the target's. Pure functions of tables; imports no MLX.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from models.pairs.drafter_kinds import PARD
from models.pairs.published import Layout, Published, Round
from models.speed.chips import Chip
from models.speed.heads import TAPS, Head
from models.speed.heads import round_seconds as head_seconds
from models.speed.roofline import (
    CONTEXT,
    ROUND_SECONDS,
    Model,
    Shape,
    drafted_range,
    expected_tokens,
    find_shape,
    pass_seconds,
    rate_of_tokens,
)

BLOCK_LAYERS = 5
"""Of z-lab's and DeepSpec's blocks, each of which also reads so many layers of the target."""
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


def predicted(drafter: Published, target: Model, chip: Chip) -> Gain | None:
    """At the middle of the published acceptances; None without any, or without its sizes."""
    if drafter.layout is None or not drafter.rounds:
        return None
    found = sorted(best(drafter, each, target, chip) for each in drafter.rounds)
    speed, length = found[(len(found) - 1) // 2]
    plain = 1 / pass_seconds(target, chip)
    if len(found) % 2 == 0 and length:
        speed = median(each[0] for each in found)
    return Gain(speed, drafted_range(plain, speed, found[0][0], found[-1][0], "block_error"), length)


def weight_bytes(drafter: Published) -> int | None:
    """Of its file, as published, else computed with 16 bits per weight; None without its sizes."""
    if drafter.bytes is not None:
        return drafter.bytes
    if drafter.kind == PARD:
        shape = find_shape(drafter.repo)
        return int(shape.parameters * 2e9) if shape else None
    layout = drafter.layout
    if layout is None:
        return None
    copies = drafter.copies * layout.vocab * layout.hidden
    return 2 * (_PARAMETERS[drafter.kind](drafter, layout) + copies)


def tokens(known: Round, length: int) -> float:
    """Of a round that drafts `length`: the accepted ones and the bonus. Where only the mean of a round is
    published, each token stands with the same chance, given those before."""
    if known.accepted:
        return 1 + sum(known.accepted[:length])
    a_round = known.tokens or 1 + known.rate * known.drafted
    return expected_tokens(rate_of_tokens(a_round, known.drafted), length)


def best(
    drafter: Published, known: Round, target: Model, chip: Chip, context: int = CONTEXT
) -> tuple[float, int]:
    """The most tokens per second, and the draft length that brings them; 0: drafting should not pay."""
    speeds = [1 / pass_seconds(target, chip, context=context)]
    for length in range(1, (len(known.accepted) or known.drafted) + 1):
        speeds.append(tokens(known, length) / round_seconds(drafter, target, chip, length, context))
    return max(speeds), speeds.index(max(speeds))


def round_seconds(
    drafter: Published, target: Model, chip: Chip, length: int, context: int = CONTEXT
) -> float:
    """A round that drafts `length` tokens. The drafter has a layout."""
    layout = drafter.layout
    assert layout is not None, f"published.toml has no layout for {drafter.repo}"
    if drafter.kind == "eagle":
        return head_seconds(target, _head(drafter, layout, target.bits), chip, length, context)
    rows = length + 1
    verify = pass_seconds(target, chip, rows=rows, context=context) + ROUND_SECONDS
    kv = 2 * layout.kv_heads * layout.head_dim * 2
    output = layout.vocab * layout.hidden
    parameters = _PARAMETERS[drafter.kind](drafter, layout)
    if drafter.kind == "mtp":
        step = Model(Shape([], (parameters + output) / 1e9, 1, kv), target.bits)
        first = pass_seconds(step, chip, rows=rows, context=context)
        return verify + first + (length - 1) * pass_seconds(step, chip, context=context)
    if drafter.kind == "assistant":
        step = Model(Shape([], parameters / 1e9, ASSISTANT_LAYERS, kv), target.bits)
        return verify + length * pass_seconds(step, chip, context=context)
    table = TABLE_RANK * layout.vocab if drafter.kind == "dspark" else 0
    block = Model(
        Shape([], (parameters - 2 * table + output) / 1e9, BLOCK_LAYERS, kv * BLOCK_LAYERS), target.bits
    )
    walk = Model(Shape([], table * length / 1e9, 0, 0), target.bits)
    return (
        verify + pass_seconds(block, chip, rows=rows, context=context) + pass_seconds(walk, chip, context=0)
    )


def _head(drafter: Published, layout: Layout, bits: float) -> Head:
    return Head(
        drafter.repo,
        layout.hidden,
        layout.intermediate,
        layout.heads,
        layout.kv_heads,
        layout.head_dim,
        drafter.vocab or layout.vocab,
        bits,
        (),
        drafter.source,
        drafter.taps or TAPS,
    )


def _of_head(drafter: Published, layout: Layout) -> int:
    head = _head(drafter, layout, 16)
    return head.step_parameters + head.fc_parameters


def _of_mtp(drafter: Published, layout: Layout) -> int:
    """Two vectors are joined; queries come with a gate of their size."""
    return 2 * layout.hidden**2 + _layer(layout, gated=True)


def _of_block(drafter: Published, layout: Layout) -> int:
    """DSpark's table is two matrices: of the token before, and of the next."""
    tables = 2 * TABLE_RANK * layout.vocab if drafter.kind == "dspark" else 0
    return BLOCK_LAYERS * (layout.hidden**2 + _layer(layout)) + tables


def _of_assistant(drafter: Published, layout: Layout) -> int:
    """Queries alone; two vectors of the target's width are read, and one is given back."""
    attention = 2 * (ASSISTANT_LAYERS + 1) * layout.heads * layout.head_dim
    rows = layout.vocab + 3 * layout.target + attention + 3 * ASSISTANT_LAYERS * layout.intermediate
    return layout.hidden * rows


def _layer(layout: Layout, *, gated: bool = False) -> int:
    attention = (2 + gated) * layout.heads + 2 * layout.kv_heads
    return layout.hidden * (attention * layout.head_dim + 3 * layout.intermediate)


_PARAMETERS: dict[str, Callable[[Published, Layout], int]] = {
    "eagle": _of_head, "mtp": _of_mtp, "dflash": _of_block, "dflash2": _of_block, "dspark": _of_block,
    "assistant": _of_assistant,
}  # fmt: skip
"""Of what lies in the drafter's file, by kind. Output rows are the target's, but for an assistant's."""
