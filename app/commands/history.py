"""`history`: the saved chats, on the command line."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from app.commands import arguments as args
from app.history.export import exported, import_file
from app.history.records import ChatRow
from app.history.store import opened_history
from app.shell import exit_codes
from app.shell.errors import BadInput
from app.shell.named_file import check_place, write_text
from app.shell.number_text import counted
from app.shell.output import data, json_data, print_result, talk
from app.shell.printable import one_line
from app.shell.tables import plain_table, print_table

EXAMPLE = """\b
Examples:
  mlx-spec history search "draft model"
  mlx-spec history export last --json --output chat.json"""

ID_LENGTH = 8

ChatId = Annotated[str, typer.Argument(metavar="ID", help="The beginning of a chat's id, or `last`.")]

group = typer.Typer(
    help="List, show, search, export, import, delete the saved chats.",
    epilog=EXAMPLE,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@group.command("list", epilog=EXAMPLE)
def list_chats(
    archived: Annotated[bool, typer.Option("--archived", help="List the archived chats.")] = False,
    deleted: Annotated[
        bool, typer.Option("--deleted", help="List the deleted chats that `restore` can bring back.")
    ] = False,
    json: args.Json = False,
) -> None:
    """List the chats, the last changed first."""
    with opened_history(to_read=True) as history:
        _print(history.chats(archived=archived, deleted=deleted), json=json)


@group.command(epilog=EXAMPLE)
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words to find in one message or title.")],
    json: args.Json = False,
) -> int:
    """Search all chats; exit code 1 if nothing is found."""
    with opened_history(to_read=True) as history:
        rows = history.search(text)
    _print(rows, json=json)
    return exit_codes.DONE if rows else exit_codes.NO


@group.command(epilog=EXAMPLE)
def show(chat: ChatId, json: args.Json = False) -> None:
    """Show a chat.

    The current branch as Markdown, or all branches as JSON.
    """
    export(chat, json=json)


@group.command(epilog=EXAMPLE)
def export(
    chat: Annotated[str, typer.Argument(metavar="ID|all", help="A chat's id, `last`, or `all`.")],
    output: Annotated[Path | None, typer.Option(help="The file to write; stdout if left out.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="JSON, which keeps everything and can be imported.")
    ] = False,
) -> None:
    """Write chats as Markdown or JSON."""
    if output is not None:
        check_place("--output", output)
    with opened_history(to_read=True) as history:
        if chat == "all":
            rows = history.chats() + history.chats(archived=True)
            found = [row.chat for row in rows]
        else:
            found = [history.find(chat)]
        chats = [(one, history.messages(one)) for one in found]
    text = exported(chats, "json" if json else "markdown")
    if output is None:
        data(text, end="")
        return
    write_text(output, text)
    talk(f"{counted(len(chats), 'chat')} written to {output}.")


@group.command("import", epilog=EXAMPLE)
def import_chats(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `history export --json`.")],
    json: args.Json = False,
) -> None:
    """Add the chats of an exported file.

    Chats already in the history stay as they are; deleted ones are restored.
    """
    with opened_history() as history:
        added, known = import_file(history, file)
    text = f"{counted(added, 'chat')} added, {known} there already."
    print_result(json, {"added": added, "known": known}, text)


@group.command(epilog=EXAMPLE)
def delete(chat: ChatId, json: args.Json = False) -> None:
    """Delete a chat; `restore` brings it back for a week."""
    with opened_history() as history:
        found = history.find(chat)
        history.delete(found.id)
    text = f"Deleted '{found.title}'. Undo: mlx-spec history restore {found.id[:ID_LENGTH]}"
    print_result(json, {"id": found.id}, one_line(text))


@group.command(epilog=EXAMPLE)
def restore(chat: ChatId, json: args.Json = False) -> None:
    """Bring a deleted chat back."""
    if chat == "last":
        raise BadInput("Name the chat to restore; `mlx-spec history list --deleted` shows them.")
    with opened_history() as history:
        found = history.find(chat)
        history.restore(found.id)
    print_result(json, {"id": found.id}, one_line(f"'{found.title}' is back."))


def _print(rows: list[ChatRow], *, json: bool) -> None:
    if json:
        json_data({"chats": [_facts(row) for row in rows]})
        return
    if not rows:
        talk("No chats.")
        return
    grid = plain_table("id", "changed", ">messages", "pair", "title")
    for row in rows:
        title = f"{row.chat.title}: {row.excerpt}" if row.excerpt else row.chat.title
        changed = datetime.fromtimestamp(row.chat.changed).strftime("%Y-%m-%d %H:%M")
        grid.add_row(row.chat.id[:ID_LENGTH], changed, str(row.messages), one_line(row.pair), one_line(title))
    print_table(grid)


def _facts(row: ChatRow) -> dict[str, object]:
    shown = {name: getattr(row.chat, name) for name in ("id", "title", "created", "changed", "archived")}
    rest = {name: getattr(row, name) for name in ("deleted", "messages", "pair", "excerpt")}
    return shown | rest
