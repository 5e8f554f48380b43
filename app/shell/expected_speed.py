"""The roofline's prediction in words and as JSON: what a pair should do on a Mac, before it is fetched."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.pairs.catalogue import Pair
    from models.speed.chips import Chip
    from models.speed.roofline import Expectation

ASK = 'Name a chip to see one: --chip "M4 Pro".'
SOURCE = "predicted from speeds that others published (docs/roofline.md), not measured"


def chosen_chip(named: str | None) -> "Chip | None":
    """The chip that was asked for, else this Mac's; None where there is nothing to predict for.

    Raises:
        BadChoice: the table does not hold what was asked for.
    """
    from models.speed.chips import find_chip
    from models.speed.machine import this_chip

    return this_chip() if named is None else find_chip(named)


def why_none() -> str:
    """Why no speed is predicted for this machine."""
    from models.speed.machine import chip_name

    if name := chip_name():
        return f"No speed is predicted: we do not know the chip {name}."
    return "No speed is predicted: this machine is no Mac."


def lines(expected: "Expectation") -> list[str]:
    """A prediction for people."""
    from models.speed.roofline import CONTEXT

    chip = expected.chip
    lines = [
        f"On an {chip.name} ({chip.bandwidth:g} GB/s), {CONTEXT} tokens into a chat, {SOURCE}:",
        f"  plain    {with_range(expected.plain, expected.plain_range, 'tokens/s')}",
        f"  drafted  {with_range(expected.drafted, expected.drafted_range, 'tokens/s')}, "
        f"{_length(expected.length)}",
    ]
    for known in expected.categories:
        text = "" if known.category == "not said" else f"{known.category}: "
        lines.append(
            f"    {text}{known.drafted:.0f} where {known.acceptance:.0%} is accepted, "
            f"{_length(known.length)} ({known.source})"
        )
    if not expected.acceptance.published:
        low, high = expected.acceptance.low, expected.acceptance.high
        lines.append(f"    No acceptance is published for this family; others have {low:.0%} to {high:.0%}.")
    lines.append("  In brackets: as close as four of five published speeds came to their predictions.")
    return lines


def sentence(name: str, expected: "Expectation") -> str:
    """A prediction in one line, said before a download."""
    gain = f"{expected.drafted:.0f} drafted" if expected.length else "no gain from drafting predicted"
    return f"{name} on an {expected.chip.name}: about {expected.plain:.0f} tokens/s plain, {gain}; {SOURCE}."


def as_json(pair: "Pair", chip: "Chip | None") -> dict[str, Any] | None:
    """A prediction's fields; None where there is none."""
    from models.speed.roofline import expect

    expected = expect(pair, chip) if chip else None
    if expected is None:
        return None
    return {"kind": "prediction", "source": "docs/roofline.md", **asdict(expected)}


def with_range(speed: float, within: tuple[float, float], unit: str = "") -> str:
    """`70 (60 to 80)`, or `70 tok/s (60 to 80)`."""
    text = f"{speed:.0f} {unit}" if unit else f"{speed:.0f}"
    return f"{text} ({within[0]:.0f} to {within[1]:.0f})"


def _length(length: int) -> str:
    return f"{length} drafted per round" if length else "no gain from drafting is predicted"
