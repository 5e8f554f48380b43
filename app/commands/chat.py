"""`chat`: the terminal app; without a terminal, a conversation over stdin and stdout."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands import arguments as args
from app.commands.generate import print_answer
from app.commands.history import opened_history
from app.engine.chat_prompt import Message
from app.engine.session import Session
from app.shell import exit_codes
from app.shell.errors import BadInput
from app.shell.output import data, talk
from app.shell.prompt_source import LARGEST_PROMPT, decoded
from mlx_spec.types import Options
from models.pairs.pair import PairSpec

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

EXAMPLE = "\b\nExamples:\n  mlx-spec chat --temperature 0.7\n  printf 'Hello\\n' | mlx-spec chat"


@args.with_flags()
def command(
    *,
    options: Options,
    pair: args.PairArguments,
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
    return _open(pair.chosen(), options, resume, welcomes=not (pair.pair or pair.target or resume))


def _open(spec: PairSpec, options: Options, resume: str | None, *, welcomes: bool) -> int:
    if sys.stdin.isatty() and sys.stdout.isatty():
        from app.tui.run import run_chat

        return run_chat(spec, options, _saved_chat(resume) if resume else None, welcomes=welcomes)
    if resume:
        raise BadInput("--resume opens the terminal app, and there is no terminal here.")
    args.print_config_problems()
    with args.tuned_pair(spec, options) as loaded:
        return answer_lines(loaded, options)


def _saved_chat(name: str) -> str:
    """The whole id of the chat meant, before a screen opens."""
    with opened_history() as history:
        return history.find(name).id


def answer_lines(pair: "LoadedPair", options: Options) -> int:
    """Answer every group of lines until the input ends; return the exit code."""
    session, messages = Session(pair), list[Message]()
    if options.temperature:
        talk(f"Seed {options.seed}.")
    for prompt in line_groups():
        messages.append(Message(role="user", content=prompt))
        ended = print_answer(session, messages, options)
        data("")
        messages.append(Message(role="assistant", content=ended.text))
        if ended.finish_reason == "cancelled":
            talk("The last answer is not complete.")
            return exit_codes.INTERRUPTED
    return exit_codes.DONE


def line_groups() -> Iterator[str]:
    """Prompts from stdin as they come: lines up to an empty one, or to the end of the input."""
    group: list[str] = []
    lines = iter(lambda: sys.stdin.buffer.readline(LARGEST_PROMPT + 1), b"")  # a device's line may never end
    for number, line in enumerate(lines, 1):
        text = decoded(line, f"Line {number} of stdin").rstrip("\r\n")
        if text.strip():
            group.append(text)
        elif group:
            yield "\n".join(group)
            group = []
    if group:
        yield "\n".join(group)
