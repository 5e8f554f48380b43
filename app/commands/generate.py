"""`generate`: one prompt, one answer."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from app.commands import arguments as args
from app.engine.chat_prompt import Message
from app.engine.events import PrefillProgressed, TextAdded, TurnEnded, TurnsDropped, text_of
from app.engine.protocol import Answer
from app.engine.session import Session
from app.shell import exit_codes
from app.shell.errors import BadInput
from app.shell.interrupt import Interrupt
from app.shell.machine import device_name, versions
from app.shell.number_text import counted
from app.shell.output import Progress, data, json_data, talk
from app.shell.prompt_source import read_prompt
from mlx_spec.types import Options

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
    options: Options,
    stop: args.Stop = None,
    pair: args.PairArguments,
    json: args.Json = False,
) -> int:
    """Answer one prompt.

    The text streams to stdout, its statistics go to stderr; --json prints both as one object.
    """
    stops = args.stop_texts(stop)
    if pair.pair is not None and " " in pair.pair:
        raise BadInput(f"'{pair.pair}' is no pair's name. For a prompt: --prompt TEXT.")
    spec = pair.chosen()
    text = read_prompt(prompt, prompt_file)
    with args.tuned_pair(spec, options) as loaded:
        asked = text if raw else (Message(role="user", content=text.rstrip("\n")),)
        ended = print_answer(Session(loaded), Answer(0, asked, options, stop_texts=stops), quiet=json)
    if not json:
        talk(numbers(ended))
    return exit_code(ended, json=json)


def exit_code(ended: TurnEnded, *, json: bool) -> int:
    """The exit code for this answer; with `json`, print the answer as an object first."""
    if json:
        json_data({**asdict(ended), "versions": versions(), "device": device_name()})
    if ended.finish_reason == "cancelled":
        talk("The answer is not complete.")
        return exit_codes.INTERRUPTED
    return exit_codes.DONE


def print_answer(
    session: Session, request: Answer, *, quiet: bool = False, line_break: bool = True
) -> TurnEnded:
    """Print an answer as it comes; with `line_break`, end it with a line break if it has none."""
    with Interrupt() as interrupt, Progress() as progress:
        for event in session.answer(request, lambda: interrupt.pressed):
            match event:
                case PrefillProgressed(done, total):
                    progress.show(f"Reading the prompt: {done} of {total} tokens")
                case TurnsDropped(count):
                    talk(f"The conversation is long: its oldest {count} messages are left out.")
                case TextAdded(pieces) if not quiet:
                    progress.clear()
                    data(text_of(pieces), end="")
                case TurnEnded(text):
                    if line_break and not quiet and not text.endswith("\n"):
                        progress.clear()
                        data("")
                    return event
    raise AssertionError("an answer always ends with TurnEnded")


def numbers(ended: TurnEnded) -> str:
    """The answer's numbers in one line."""
    stats = ended.stats
    parts = [counted(stats.tokens, "token")]
    if stats.tokens_per_second:
        parts.append(f"{stats.tokens_per_second:.1f} tokens/s")
    if stats.draft_n:
        parts.append(f"{stats.accepted_per_round:.2f} accepted per round")
        parts.append(f"{stats.acceptance_rate:.0%} of {stats.draft_n} drafted")
    if stats.tokens:
        parts.append(f"first token after {stats.time_to_first_token:.2f} s")
    return ", ".join([*parts, f"seed {ended.seed}"])
