"""The command line: its commands, and how results and errors become exit codes."""

import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from app.commands import (
    batch,
    bench,
    chat,
    check,
    comparisons,
    complete,
    config,
    doctor,
    generate,
    history,
    pairs,
    pull,
    remove,
    report,
    serve,
    train,
    tune,
)
from app.settings.config import read_config
from app.shell import exit_codes
from app.shell.failures import DEBUG, failure
from app.shell.machine import versions
from app.shell.output import ReaderGone, data, forget_unwritable, prepare_streams, talk
from app.shell.runtime import rank

cli = typer.Typer(
    name="mlx-spec",
    help="Chat with a local model faster, word for word the same: a small model guesses ahead, "
    "the large one checks. Without a command, the chat opens.",
    epilog="Exit codes: 0 done, 1 the answer is no, 2 wrong use, 3 machine or network failed, "
    "130 interrupted.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (chat, generate, complete, serve, batch, bench, check, tune, report, pull, train, remove, doctor)
for module in COMMANDS:
    cli.command(module.__name__.rpartition(".")[2], epilog=module.EXAMPLE)(module.command)
for module in (pairs, history, comparisons, config):
    cli.add_typer(module.group, name=module.__name__.rpartition(".")[2])


def _version(wanted: bool) -> None:
    if wanted:
        found = versions()
        own = found.pop("mlx-spec", "(not installed)")
        data(f"mlx-spec {own} ({', '.join(f'{name} {number}' for name, number in found.items())})")
        raise typer.Exit


@cli.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print versions and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option(DEBUG, help="Show the traceback of an error.")] = False,
) -> int | None:
    if context.invoked_subcommand is None:
        return chat.command(**(context.default_map or {}).get("chat", {}))
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code. Every error becomes one or two lines on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    prepare_streams()
    try:
        defaults = read_config().option_defaults(given)
        # config.toml's max_tokens is for answers; `complete` has a default of its own.
        completing = {name: value for name, value in defaults.items() if name != "max_tokens"}
        # Measurements take the pair alone, so that only the command line changes what is measured.
        pair = {name: value for name, value in defaults.items() if name == "pair"}
        code = cli(
            args=[a for a in given if a != DEBUG],
            prog_name="mlx-spec",
            standalone_mode=False,
            default_map={
                **dict.fromkeys(("chat", "generate", "serve", "batch"), defaults),
                **dict.fromkeys(("bench", "check", "tune"), pair),
                "complete": completing,
            },
        )
        if code == exit_codes.INTERRUPTED:
            talk("Interrupted.")
        return code if isinstance(code, int) else exit_codes.DONE
    except (ReaderGone, SystemExit):  # typer raises SystemExit for a closed pipe: `mlx-spec --help | true`
        return exit_codes.INTERRUPTED
    except Exception as error:
        if DEBUG in given:
            traceback.print_exc()
        code, message = failure(error)
        talk(f"Rank {rank()}: {message}" if rank() else message)
        forget_unwritable()
        return code
