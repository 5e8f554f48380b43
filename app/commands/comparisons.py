"""`comparisons`: the chat's saved comparisons, on the command line."""

from pathlib import Path
from typing import Annotated

import typer

from app.commands import arguments as args
from app.shell.output import data, json_data, talk
from app.shell.printable import one_line
from app.shell.tables import plain_table, print_table

EXAMPLE = """\b
Examples:
  mlx-spec comparisons list
  mlx-spec comparisons export last sweep.png"""

Name = Annotated[str, typer.Argument(metavar="NAME", help="A comparison's name, its beginning, or `last`.")]

group = typer.Typer(
    help="List, show, export the chat's comparisons.\n\nThey are made in the chat, by /compare and /sweep.",
    epilog=EXAMPLE,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@group.command("list", epilog=EXAMPLE)
def list_comparisons(json: args.Json = False) -> None:
    """List the comparisons, the newest first."""
    from app.compare import store, words

    found = store.kept()
    for file in found.unreadable:
        talk(f"{file} is not a comparison that this version can read; it stays as it is.")
    rows = [
        {
            "name": record.name, "date": record.date, "pair": record.facts["pair"]["name"],
            "prompts": len(record.prompts), "settings": len(record.settings),
            "result": words.sentence(record),
        }
        for record in found.records
    ]  # fmt: skip
    if json:
        json_data(rows)
        return
    if not rows:
        talk("No comparison was saved yet. In the chat, /compare runs one.")
        return
    grid = plain_table("name", "pair", ">prompts", ">settings", "result")
    for row in rows:
        grid.add_row(*(one_line(str(row[key])) for key in ("name", "pair", "prompts", "settings", "result")))
    print_table(grid)


@group.command(epilog=EXAMPLE)
def show(name: Name, json: args.Json = False) -> None:
    """Show a comparison.

    Every setting's speed against plain decoding, by category too.
    """
    from app.compare import store, words
    from app.compare.tables import tables

    record = store.find(name)
    if json:
        json_data(record.as_json())
        return
    data(words.heading(record))
    for table in tables(record):
        print_table(table)
    data(words.sentence(record))


@group.command(epilog=EXAMPLE)
def export(
    name: Name, file: Annotated[Path, typer.Argument(metavar="FILE", help=".json, .csv, .png or .svg")]
) -> None:
    """Write a comparison to a file."""
    from app.compare import store
    from app.compare.export import export as write

    write(store.find(name), file)
    talk(f"Written: {file}")
