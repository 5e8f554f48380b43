"""Published and predicted speeds of blocks and MTP layers on Macs: a table of docs/roofline.md."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from models.pairs.published import Published, Round, all_layouts
from models.speed.chips import find_chip
from models.speed.published_rounds import best, round_seconds, tokens
from models.speed.roofline import Model, find_shape, format_bits, pass_seconds

ROWS = Path(__file__).with_name("published_rounds.toml")
CONTEXT = 256
"""Tokens of context, if a source does not say."""


@dataclass(frozen=True, slots=True)
class Row:
    """A published gain over plain decoding, with its prediction."""

    table: dict[str, Any]
    plain: float
    """Predicted tokens per second of plain decoding, then with the drafter."""
    drafted: float
    length: int

    @property
    def gain(self) -> float:
        return self.table["gain"] if "gain" in self.table else self.table["with"] / self.table["plain"]

    @property
    def error(self) -> float:
        """Relative error of the predicted gain."""
        return self.drafted / self.plain / self.gain - 1


@cache
def rows() -> tuple[Row, ...]:
    return tuple(map(_row, tomllib.loads(ROWS.read_text())["row"]))


def summary() -> str:
    """The errors of the predicted gains, in one sentence."""
    errors = sorted(row.error for row in rows())
    own = [abs(row.error) for row in rows() if "of" not in row.table]
    return (
        f"Over {len(errors)} published gains: median error **{median(map(abs, errors)):.0%}**, "
        f"from {errors[0]:+.0%} to {errors[-1]:+.0%}; "
        f"over the {len(own)} with an acceptance of their own: {median(own):.0%}."
    )


def lines() -> Iterator[str]:
    """The table, in Markdown."""
    yield (
        "| chip | target | drafter, drafted per round | measured by others | predicted | gain, theirs "
        "| predicted | error | acceptance | source |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    yield from map(_line, rows())


def _row(table: dict[str, Any]) -> Row:
    shape, chip = find_shape(table["model"]), find_chip(table["chip"])
    assert shape is not None, f"shapes.toml lacks {table['model']}"
    target = Model(shape, format_bits(table["format"]))
    known = Round(
        text="",
        source=table["source"],
        temperature=0.0,
        drafted=table.get("up_to") or table["drafted"],
        tokens=table.get("tokens", 0.0),
        rate=table.get("rate", 0.0),
    )
    drafter = Published(
        table["model"], table["kind"], (), table["source"], all_layouts()[table["layout"]], rounds=(known,)
    )
    plain = 1 / pass_seconds(target, chip, context=CONTEXT)
    if (length := table.get("drafted")) is None:
        speed, length = best(drafter, known, target, chip, CONTEXT)
    else:
        speed = tokens(known, length) / round_seconds(drafter, target, chip, length, CONTEXT)
    return Row(table, plain, speed, length)


def _line(row: Row) -> str:
    table = row.table
    length = f"{row.length}" if "drafted" in table else f"{row.length} (not said)"
    measured = f"{table['plain']:.1f} → {table['with']:.1f}" if "plain" in table else ""
    accepted = f"{table['tokens']:.2f} a round" if "tokens" in table else f"{table['rate']:.0%} of drafted"
    whose = f"{accepted}, not theirs: {table['of']}" if "of" in table else accepted
    return (
        f"| {table['chip']} | {table['model']} {table['format']} | {table['kind']}, {length} | {measured} "
        f"| {row.plain:.1f} → {row.drafted:.1f} | {row.gain:.2f} | {row.drafted / row.plain:.2f} "
        f"| {row.error:+.0%} | {whose} | {table['source']} |"
    )
