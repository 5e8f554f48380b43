"""`chat`: the terminal app; without a terminal, a conversation over stdin and stdout."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands import arguments as args
from app.shell.errors import BadInput
from mlx_spec.types import Options

if TYPE_CHECKING:
    from models.pairs.pair import PairSpec

EXAMPLE = "\b\nExamples:\n  mlx-spec chat --temperature 0.7\n  printf 'Hello\\n' | mlx-spec chat"


@args.takes_options()
def command(
    pair: args.PairName = None,
    options: Options = args.FROM_FLAGS,
    target: args.Target = None,
    draft: args.Draft = None,
    revision: args.Revision = None,
    draft_head: args.DraftHead = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="ID|last",
            help="Go on with a saved chat, with its own instructions and options; see `history list`.",
        ),
    ] = None,
) -> int:
    """Chat in the terminal.

    From a pipe: one answer per group of lines, groups parted by empty lines.
    """
    spec = args.chosen_pair(pair, target, draft, revision, draft_head)
    return _open(spec, options, resume, welcomes=not (pair or target or resume))


def _open(spec: "PairSpec", options: Options, resume: str | None, *, welcomes: bool) -> int:
    if sys.stdin.isatty() and sys.stdout.isatty():
        from app.tui.run import run_chat

        return run_chat(spec, options, _saved_chat(resume) if resume else None, welcomes=welcomes)
    if resume:
        raise BadInput("--resume opens the terminal app, and there is no terminal here.")
    from app.shell.stdin_chat import run_stdin_chat

    args.tell_config_problems()
    loaded = args.tuned_pair(spec, options)
    try:
        return run_stdin_chat(loaded, options)
    finally:
        args.keep_learned(loaded, options)


def _saved_chat(name: str) -> str:
    """The whole id of the chat meant, before a screen opens.

    Raises:
        BadInput: there is none.
    """
    from app.commands.history import opened_history

    with opened_history() as history:
        return history.find(name).id
