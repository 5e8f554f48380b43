"""`complete`: fill in text at a position in a file."""

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from app.commands import arguments as args
from app.commands import loading
from app.commands.generate import exit_code, first_event, print_answer
from app.engine.chat_prompt import FillIn
from app.engine.protocol import Answer
from app.engine.session import Session
from app.settings.config import drafter_named
from app.settings.options import OPTION_SETTINGS, THINKING, AnswerOptions, copies
from app.shell.errors import BadInput
from app.shell.prompt_source import read_prompt, read_text

MAX_TOKENS = 64

EXAMPLE = """\b
Examples:
  mlx-spec complete --target CODER --draft SMALL-CODER --file main.py --at 12:5
  mlx-spec complete smollm2-135m --open-file other.py < main.py"""


@args.with_flags(
    "no_draft", *(each.field for each in OPTION_SETTINGS if each != THINKING), max_tokens=MAX_TOKENS
)
def command(
    *,
    file: Annotated[Path | None, typer.Option(help="The file to complete; without it, stdin.")] = None,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="LINE:COLUMN",
            help="Where to insert the text, both counted from 1: before the character at this position. "
            "The end of the file if left out.",
        ),
    ] = None,
    open_file: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Another file, for the drafter lookup to copy from; the model does not read it. Repeatable.",
        ),
    ] = None,
    options: AnswerOptions,
    stop: args.Stop = None,
    pair: args.PairArguments,
    json: args.Json = False,
) -> int:
    """Fill in text at a position in a file.

    The completion alone goes to stdout; --json adds its numbers. In the middle of a text the target must be
    a code model with fill-in-the-middle tokens; at the end any target works.
    """
    stops = args.stop_texts(stop)
    if open_file and not copies(options.drafter):
        without = "--no-draft" if options.drafter == "none" else drafter_named(options.drafter)
        raise BadInput(
            f"--open-file is for the drafter lookup, and {without} leaves lookup out. Give one of them."
        )
    spec = pair.chosen()
    if file is None and sys.stdin.isatty():
        raise BadInput("There is no text to complete. Give --file FILE, or pipe the text in.")
    gap = _gap(read_prompt(None, file), at)
    documents = tuple(read_text(each) for each in open_file or ())
    asked = gap if gap.after else gap.before
    request = Answer(0, asked, options, documents=documents, stop_texts=stops)
    with loading.tuned_pair(spec, options, lambda loaded: first_event(loaded, request)) as loaded:
        ended, *_ = print_answer(Session(loaded), request, quiet=json, line_break=sys.stdout.isatty())
    return exit_code(ended, spec, json=json)


def _gap(text: str, at: str | None) -> FillIn:
    r"""The text before and after the position, with \n for \r\n."""
    text = text.replace("\r\n", "\n")
    if at is None:
        return FillIn(text, "")
    if not (found := re.fullmatch(r"0*(\d{1,9}):0*(\d{1,9})", at, re.ASCII)):
        raise BadInput(f"--at is {at or 'empty'}; it must be LINE:COLUMN, both counted from 1, as 12:5.")
    line, column = int(found[1]), int(found[2])
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        raise BadInput(f"--at is {at}, and the text has the lines 1 to {len(lines)}.")
    if not 1 <= column <= len(lines[line - 1]) + 1:
        raise BadInput(f"--at is {at}, and line {line} has the places 1 to {len(lines[line - 1]) + 1}.")
    place = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
    return FillIn(text[:place], text[place:])
