"""`generate`: one prompt, one answer."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from app.commands import arguments as args
from app.commands import loading
from app.engine.chat_prompt import Message
from app.engine.events import Piece, PrefillProgressed, TextAdded, TurnEnded, TurnEvent, TurnsDropped, text_of
from app.engine.protocol import Answer
from app.engine.session import Session
from app.settings.options import AnswerOptions
from app.shell import exit_codes
from app.shell.errors import BadInput
from app.shell.interrupt import Interrupt
from app.shell.machine import device_name, versions
from app.shell.number_text import answer_figures
from app.shell.output import Progress, aside, data, json_data, talk
from app.shell.prompt_source import read_prompt
from models.errors import UnknownPair
from models.pairs.pair import PairSpec

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

EXAMPLE = """\b
Examples:
  mlx-spec generate --prompt "What is a draft model?" --draft-length 4
  mlx-spec generate --prompt-file notes.txt --max-tokens 200 --json"""


@args.with_flags()
def command(
    *,
    prompt: Annotated[str | None, typer.Option(help="The prompt; without it, a file or stdin.")] = None,
    prompt_file: Annotated[Path | None, typer.Option(help="Read the prompt from this file.")] = None,
    raw: args.Raw = False,
    options: AnswerOptions,
    stop: args.Stop = None,
    pair: args.PairArguments,
    json: args.Json = False,
) -> int:
    """Answer one prompt.

    The text streams to stdout, its statistics go to stderr; --json prints both as one object. The model's
    thought is in the object, and otherwise shown only on a terminal.
    """
    stops = args.stop_texts(stop)
    try:
        spec = pair.chosen()
    except UnknownPair:
        if " " not in (pair.pair or ""):
            raise
        raise BadInput(f"'{pair.pair}' is not the name of a pair. For a prompt: --prompt TEXT.") from None
    text = read_prompt(prompt, prompt_file)
    asked = text if raw else (Message(role="user", content=text.rstrip("\n")),)
    request = Answer(0, asked, options, stop_texts=stops, parts=not raw)
    with loading.tuned_pair(spec, options, lambda loaded: first_event(loaded, request)) as loaded:
        ended, answer, thought = print_answer(Session(loaded), request, quiet=json)
    if not json:
        talk(", ".join([*answer_figures(ended.stats), f"seed {ended.seed}"]))
    return exit_code(ended, spec, json=json, text=answer, thought=thought)


def first_event(pair: "LoadedPair", request: Answer) -> TurnEvent:
    """What an answer begins with, before a pass of the model; raises what a refused one raises."""
    return next(filter(None, Session(pair).answer(request)))


class Printed(NamedTuple):
    ended: TurnEnded
    text: str
    """Without the thought, if the request asked for parts."""
    thought: str


def exit_code(ended: TurnEnded, pair: PairSpec, *, json: bool, **parts: str) -> int:
    """The exit code for this answer; with `json`, print the answer and its `parts` as an object first."""
    if json:
        by = {"pair": pair.as_json(), "versions": versions(), "device": device_name()}
        json_data({**asdict(ended), **parts, **by})
    if ended.finish_reason == "cancelled":
        talk("The answer is not complete.")
        return exit_codes.INTERRUPTED
    return exit_codes.DONE


def print_answer(
    session: Session, request: Answer, *, quiet: bool = False, line_break: bool = True
) -> Printed:
    """Print an answer as it comes; with `line_break`, end it with a line break if it has none."""
    pieces: list[Piece] = []
    with Interrupt() as interrupt, Progress() as progress:
        for event in session.answer(request, lambda: interrupt.pressed):
            match event:
                case PrefillProgressed(done, total):
                    progress.show(f"Reading the prompt: {done} of {total} tokens")
                case TurnsDropped(count):
                    talk(f"The conversation is long: its oldest {count} messages are left out.")
                case TextAdded(added):
                    for piece in added:
                        if not quiet:
                            progress.clear()
                            _print(piece, pieces[-1:])
                        pieces.append(piece)
                case TurnEnded():
                    answer, thought = (
                        text_of(p for p in pieces if p.thought is part) for part in (False, True)
                    )
                    if not quiet:
                        progress.clear()
                        aside("\n" if pieces and pieces[-1].thought else "")
                        data("", end="\n" if line_break and not answer.endswith("\n") else "")
                    if thought and not answer and event.finish_reason == "length":
                        talk("The answer ended inside its thought. Allow a longer one: --max-tokens N.")
                    return Printed(event, answer, thought)
    raise AssertionError("an answer always ends with TurnEnded")


def _print(piece: Piece, before: Sequence[Piece]) -> None:
    if piece.thought != any(last.thought for last in before):
        aside(("\n\n" if before else "") + ("Thought:\n" if piece.thought else ""))
    if piece.thought:
        aside(piece.text)
    else:
        data(piece.text, end="")
