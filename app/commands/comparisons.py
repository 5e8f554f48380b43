"""`comparisons`: those that the chat kept, on the command line."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands import arguments as args
from app.shell import exit_codes
from app.shell.output import data, json_data, talk
from app.shell.printable import one_line

if TYPE_CHECKING:
    from app.compare.record import Record

EXAMPLE = """\b
Examples:
  mlx-spec comparisons list
  mlx-spec comparisons export last sweep.png"""

Name = Annotated[str, typer.Argument(metavar="NAME", help="A comparison's name, its beginning, or `last`.")]

group = typer.Typer(
    help="List, show, export the chat's comparisons.\n\n/compare and /sweep make them.",
    epilog=EXAMPLE,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@group.command("list", epilog=EXAMPLE)
def list_comparisons(json: args.Json = False) -> int:
    """List them, the newest first."""
    from app.compare import store, words
    from app.shell.tables import plain_table, print_table

    found = store.kept()
    for file in found.unreadable:
        talk(f"{file} is no comparison of this version; left alone.")
    if json:
        json_data([{**_summary(record), "result": words.sentence(record)} for record in found.records])
    elif found.records:
        grid = plain_table("name", "pair", ">prompts", ">settings", "result")
        for record in found.records:
            cells = _summary(record)
            counts = str(cells["prompts"]), str(cells["settings"])
            grid.add_row(record.name, one_line(str(cells["pair"])), *counts, words.sentence(record))
        print_table(grid)
    else:
        talk("No comparison was kept yet. In the chat, /compare runs one.")
    return exit_codes.DONE


@group.command(epilog=EXAMPLE)
def show(name: Name, json: args.Json = False) -> int:
    """Show one.

    Every setting's speed against plain decoding, by category too.
    """
    from app.compare import store, words
    from app.compare.tables import tables
    from app.shell.tables import print_table

    record = store.find(name)
    if json:
        json_data(record.as_json())
        return exit_codes.DONE
    data(f"{record.date}  {one_line(record.facts['pair']['name'])}  {one_line(words.circumstances(record))}")
    for table in tables(record):
        print_table(table)
    data(words.sentence(record))
    return exit_codes.DONE


@group.command(epilog=EXAMPLE)
def export(
    name: Name, file: Annotated[Path, typer.Argument(metavar="FILE", help=".json, .csv, .png or .svg")]
) -> int:
    """Write one to a file."""
    from app.compare import store
    from app.compare.export import export as write

    write(store.find(name), file)
    talk(f"Written: {file}")
    return exit_codes.DONE


def _summary(record: "Record") -> dict[str, str | int]:
    return {
        "name": record.name,
        "date": record.date,
        "pair": str(record.facts["pair"]["name"]),
        "prompts": len(record.prompts),
        "settings": len(record.settings),
    }
