"""`pairs`: which pairs there are, and what they need."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from app import exit_codes
from app.commands import arguments as args
from app.output import data, json_data
from app.printable import one_line

if TYPE_CHECKING:
    from models.catalogue import Pair

EXAMPLE = "\b\nExamples:\n  mlx-spec pairs\n  mlx-spec pairs show smollm2-1.7b"

group = typer.Typer(
    help="List the known pairs.\n\nSizes, memory, licence, installed or not, fits here or not and why.",
    epilog=EXAMPLE,
    invoke_without_command=True,
    rich_markup_mode=None,
)


@group.callback()
def list_pairs(context: typer.Context, json: args.Json = False) -> int:
    """List the known pairs.

    Sizes, memory, licence, installed or not, fits here or not and why.
    """
    if context.invoked_subcommand is not None:
        return exit_codes.DONE
    from models.catalogue import all_pairs

    facts = [_facts(pair) for pair in all_pairs()]
    if json:
        json_data({"pairs": facts})
        return exit_codes.DONE
    _print(facts)
    return exit_codes.DONE


@group.command(epilog=EXAMPLE)
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A pair of `mlx-spec pairs`.")],
    json: args.Json = False,
) -> int:
    """Show everything known about one pair."""
    from models.catalogue import find

    facts = _facts(find(name))
    if json:
        json_data(facts)
    else:
        width = max(map(len, facts))
        for key, value in facts.items():
            label = key.removesuffix("_bytes").replace("_", " ")
            data(f"{label:<{width}}  {_shown(key, value)}")
    return exit_codes.DONE


def _facts(pair: "Pair") -> dict[str, Any]:
    from models.fit import fit
    from models.installed import installed

    here = fit(pair)
    return {
        "name": pair.name,
        "good_for": pair.good_for,
        "target": str(pair.target),
        "draft": str(pair.draft),
        "quantization": pair.quantization,
        "download_bytes": pair.download_bytes,
        "memory_bytes": pair.memory_bytes,
        "tokenizer_family": pair.family,
        "licence": pair.licence,
        "verified": pair.verified,
        "installed": installed(pair.spec),
        "fits": here.verdict,
        "why": here.why,
    }


def _shown(key: str, value: object) -> str:
    from models.size_text import size_text

    if key == "download_bytes" and value == 0:
        return "none"
    if key.endswith("_bytes") and isinstance(value, int):
        return size_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return one_line(str(value))


def _print(facts: list[dict[str, Any]]) -> None:
    from app.tables import plain_table, print_table

    keys = ("name", "download_bytes", "memory_bytes", "installed", "fits", "licence")
    grid = plain_table("pair", ">download", ">memory", "installed", "fits here", "licence")
    for pair in facts:
        name, *cells = (_shown(key, pair[key]) for key in keys)
        grid.add_row(name if pair["verified"] else f"{name} *", *cells)
    print_table(grid)
    for pair in facts:
        if pair["fits"] != "fits":
            data(one_line(f"{pair['name']}: {pair['fits']}, {pair['why']}."))
    if not all(pair["verified"] for pair in facts):
        data("* Unverified: sizes are computed, licences from memory; the repository was not read.")
