"""The roofline's prediction of a pair's speed on a Mac, in words and as JSON."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from app.shell.number_text import rate_text
from models.pairs.catalogue import Pair
from models.speed import machine
from models.speed.chips import Chip, find_chip
from models.speed.roofline import CONTEXT, Expectation, expect

ASK = 'Name a chip to see one: --chip "M4 Pro".'
SOURCE = "predicted from speeds that others published (docs/roofline.md), not measured"


def chosen_chip(named: str | None) -> Chip | None:
    """The named chip, else this Mac's; BadChoice for a name that is not in the table."""
    return machine.this_chip() if named is None else find_chip(named)


def why_none() -> str:
    """Why no speed is predicted for this machine."""
    if name := machine.chip_name():
        return f"No speed is predicted: we do not know the chip {name}."
    return "No speed is predicted: this machine is no Mac."


def lines(expected: Expectation) -> Iterator[str]:
    """A prediction, and what the draft model gains by kind of text."""
    yield sentence(expected)
    yield (
        f"  {CONTEXT} tokens into a chat. In brackets: four of five published speeds are this close to "
        "their predictions."
    )
    for known in expected.categories:
        text = "" if known.category == "not said" else f"{known.category}: "
        length = f"{known.length} drafted per round" if known.length else "no gain from drafting is predicted"
        yield (
            f"  {text}{rate_text(known.drafted)} where {known.acceptance:.0%} is accepted, {length} "
            f"({known.source})"
        )


def sentence(expected: Expectation) -> str:
    """A prediction in one line; without a draft model, of the plain speed only."""
    speeds = f"plain {with_range(expected.plain, expected.plain_range, 'tokens/s')}"
    if expected.length:
        speeds += f", drafted {with_range(expected.drafted, expected.drafted_range)}"
    elif expected.length == 0:
        speeds += ", no gain from drafting predicted"
    return f"On an {expected.chip.name}: {speeds}; {SOURCE}."


def as_json(pair: Pair, chip: Chip | None) -> dict[str, Any] | None:
    """A prediction's fields; None if nothing is predicted."""
    expected = expect(pair, chip) if chip else None
    return expected and {"kind": "prediction", "source": "docs/roofline.md", **asdict(expected)}


def with_range(speed: float, within: tuple[float, float], unit: str = "") -> str:
    """`70 (60 to 80)`, or `70 tok/s (60 to 80)`."""
    return " ".join(filter(None, [rate_text(speed), unit, f"({' to '.join(map(rate_text, within))})"]))
