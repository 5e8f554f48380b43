"""`pairs`: the known pairs, and what they need."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from shlex import quote
from typing import Annotated, Any

import typer

from app.chat.pair_facts import NO_FILES, NOT_VERIFIED, drafter_row
from app.commands import arguments as args
from app.shell.errors import BadInput
from app.shell.expected_speed import ASK, SOURCE, as_json, chosen_chip, lines, why_none, with_range
from app.shell.number_text import rate_text
from app.shell.output import data, json_data
from app.shell.printable import one_line
from app.shell.tables import plain_table, print_table
from models.errors import ModelsError
from models.load.translation import bridged
from models.pairs.catalogue import Pair, all_pairs, find, named_in
from models.pairs.installed import installed
from models.pairs.own_drafters import own_drafters
from models.size_text import size_text
from models.speed.chips import Chip
from models.speed.fit import fit
from models.speed.fitting_drafters import FittingDrafter, fitting_drafters
from models.speed.roofline import expect

EXAMPLE = '\b\nExamples:\n  mlx-spec pairs\n  mlx-spec pairs show qwen3-8b --chip "M4 Pro"'

NOT_FETCHED = (
    "? Not verified: not downloaded by this project. Its name is from the source, its size is computed from "
    "its layout if none is published, and its acceptance was measured on other machines and formats."
)

ChipName = Annotated[
    str | None,
    typer.Option(
        "--chip", metavar="NAME", help='Predict speeds for this Mac: "M4 Pro", "M4 Max 32" (cores).'
    ),
]

group = typer.Typer(epilog=EXAMPLE, invoke_without_command=True, rich_markup_mode=None)


@group.callback()
def list_pairs(context: typer.Context, chip: ChipName = None, json: args.Json = False) -> None:
    """List the known pairs.

    Sizes, memory, licence, installed or not, fits here or not and why, and the speed to expect on a Mac.
    """
    if context.invoked_subcommand is not None:
        if chip is not None or json:
            raise BadInput("Give --chip and --json behind the command: mlx-spec pairs show NAME --json.")
        return
    known = chosen_chip(chip)
    facts = [_facts(pair, known) for pair in all_pairs()]
    if json:
        json_data({"chip": known.name if known else None, "pairs": facts})
    else:
        _print(facts, known)


@group.command(epilog=EXAMPLE)
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A pair of `mlx-spec pairs`.")],
    chip: ChipName = None,
    json: args.Json = False,
) -> None:
    """Show a pair, and the drafters that fit its target.

    With the predicted speed on a Mac, the best drafter first.
    """
    pair, known = find(name), chosen_chip(chip)
    facts = _facts(pair, known)
    ranked = fitting_drafters(pair, known)
    notes = _notes(pair)
    if json:
        json_data(facts | {"notes": notes, "may_draft": [_drafter_json(pair, drafter) for drafter in ranked]})
        return
    del facts["expected"]
    width = max(map(len, facts))
    for key, value in facts.items():
        label = "fits here" if key == "fits" else key.removesuffix("_bytes").replace("_", " ")
        data(f"{label:<{width}}  {_shown(key, value)}")
    if known is None:
        data(f"{why_none()} {ASK}")
    elif expected := expect(pair, known):
        data("\n".join(lines(expected)))
    else:
        data(f"No speed is predicted: we do not know {pair.name}'s layers or format.")
    data("\n".join([*_may_draft(pair, ranked), *map(one_line, notes)]))


def _notes(pair: Pair) -> tuple[str, ...]:
    """Notes on a draft with another tokenizer than the target's; only own pairs can have one."""
    try:
        return bridged(pair.spec) if pair.own and installed(pair.spec) else ()
    except ModelsError as error:
        return (str(error),)


def _may_draft(pair: Pair, ranked: Sequence[FittingDrafter]) -> Iterator[str]:
    """Lines: each drafter with its size, expected speed, reason for its rank, and how to get it."""
    yield "Drafters for its target, the one to try first at the top:"
    for place, drafter in enumerate(ranked, start=1):
        yield f"{place}. {drafter_row(drafter)}{' ?' if drafter.named_in and not drafter.here else ''}"
        speed, licence = "", ""
        if drafter.speed and drafter.range:
            speed = f"{with_range(drafter.speed, drafter.range, 'tokens/s')}, predicted: "
        if drafter.named_in:
            licence = f"; licence: {drafter.licence}" if drafter.licence else "; licence not known"
        yield f"   {one_line(speed + drafter.why + licence)}"
        yield f"   {one_line(_pull_command(pair, drafter) or ('here' if drafter.here else 'gone'))}"
    yield f"{len(ranked) + 1}. {NO_FILES}"
    if any(drafter.named_in and not drafter.here for drafter in ranked):
        yield NOT_FETCHED


def _drafter_json(pair: Pair, drafter: FittingDrafter) -> dict[str, Any]:
    """One drafter's fields; `verified` is false if it is only named in a source and not installed."""
    verified, pull = drafter.here or not drafter.named_in, _pull_command(pair, drafter) or None
    return asdict(drafter) | {"verified": verified, "pull": pull}


def _pull_command(pair: Pair, drafter: FittingDrafter) -> str:
    """The command that downloads a drafter; empty if it is installed or has no download."""
    if drafter.here or not drafter.named_in:
        return ""
    return f"mlx-spec pull --target {quote(str(pair.target))} --draft {drafter.source}"


def _facts(pair: Pair, chip: Chip | None) -> dict[str, Any]:
    here = fit(pair)
    return {
        "name": pair.name,
        "good_for": pair.good_for,
        "target": str(pair.target),
        "draft": str(pair.draft) if pair.draft else None,
        "drafters": {kind: str(folder) for kind, folder in own_drafters(pair.target)[0].items()},
        "quantization": pair.quantization,
        "download_bytes": pair.download_bytes,
        "memory_bytes": pair.memory_bytes,
        "tokenizer_family": pair.family,
        "licence": pair.licence,
        "verified": pair.verified,
        "named_in": named_in(pair.target) or None,
        "installed": installed(pair.spec),
        "fits": here.verdict,
        "why": here.why,
        "expected": as_json(pair, chip),
    }


def _shown(key: str, value: Any) -> str:
    if key.endswith("_bytes"):
        return size_text(value) if value or key != "download_bytes" else "none"
    if value is None or isinstance(value, dict):
        return ", ".join(value or ()) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return one_line(str(value))


def _print(facts: list[dict[str, Any]], chip: Chip | None) -> None:
    keys = ("name", "download_bytes", "memory_bytes", "installed", "fits", "licence")
    heads = ["pair", ">download", ">memory", "here", "fits", "licence"]
    if chip:
        heads[5:5] = [">predicted\nplain", ">tok/s\ndrafted"]
    grid = plain_table(*heads)
    for pair in facts:
        name, *cells = (_shown(key, pair[key]) for key in keys)
        if chip:
            plain, drafted = "", ""
            if expected := pair["expected"]:
                plain = rate_text(expected["plain"])
                drafted = rate_text(expected["drafted"]) if expected["length"] is not None else ""
            cells[4:4] = [plain, drafted]
        grid.add_row(name if pair["verified"] else f"{name} *", *cells)
    print_table(grid)
    data(f"Tokens per second on an {chip.name}: {SOURCE}." if chip else f"{why_none()} {ASK}")
    for pair in facts:
        if pair["fits"] != "fits":
            data(one_line(f"{pair['name']}: {pair['fits']}, {pair['why']}."))
        if pair["drafters"]:
            data(one_line(f"{pair['name']}: drafted by {', '.join(pair['drafters'])} too."))
    if not all(pair["verified"] for pair in facts):
        data(f"* {NOT_VERIFIED}")
