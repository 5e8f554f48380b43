"""The drafters that fit a pair's target, ranked: as text and as JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from app.chat.pair_facts import NO_FILES, drafter_row
from app.shell.expected_speed import with_range
from app.shell.printable import one_line
from models.pairs.catalogue import Pair
from models.speed.fitting_drafters import FittingDrafter

LIMITS = (
    "? Not verified: not downloaded by this project. Its name is from the source, its size is computed from "
    "its layout if none is published, and its acceptance was measured on other machines and formats."
)


def may_draft(pair: Pair, ranked: Sequence[FittingDrafter]) -> Iterator[str]:
    """Lines: each drafter with its size, expected speed, reason for its rank, and how to get it."""
    yield "Drafters for its target, the one to try first at the top:"
    for place, drafter in enumerate(ranked, start=1):
        unverified = drafter.named_in and not drafter.here
        yield f"{place}. {drafter_row(drafter)}{' ?' if unverified else ''}"
        speed, licence = "", ""
        if drafter.speed and drafter.range:
            speed = f"{with_range(drafter.speed, drafter.range, 'tokens/s')}, predicted: "
        if drafter.named_in:
            licence = f"; licence: {drafter.licence}" if drafter.licence else "; licence not known"
        yield f"   {one_line(speed + drafter.why + licence)}"
        yield f"   {one_line(pull_command(pair, drafter) or 'here')}"
    yield f"{len(ranked) + 1}. {NO_FILES}"
    if any(drafter.named_in and not drafter.here for drafter in ranked):
        yield LIMITS


def as_json(pair: Pair, drafter: FittingDrafter) -> dict[str, Any]:
    """One drafter's fields; `verified` is false if it is only named in a source and not installed."""
    command = pull_command(pair, drafter)
    return asdict(drafter) | {"verified": drafter.here or not drafter.named_in, "pull": command or None}


def pull_command(pair: Pair, drafter: FittingDrafter) -> str:
    """The command that downloads a drafter; empty if it is installed or has no download."""
    if drafter.here or not drafter.named_in:
        return ""
    return f"mlx-spec pull --target {pair.target} --draft {drafter.source}"
