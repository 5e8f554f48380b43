"""`generate`: one prompt, one answer."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from app.commands import arguments as args
from app.engine.chat_prompt import Message
from app.engine.events import PrefillProgressed, TextAdded, TurnEnded
from app.engine.session import Session
from app.shell import exit_codes
from app.shell.counted import counted
from app.shell.errors import BadInput
from app.shell.output import Progress, data, json_data, talk
from mlx_spec.types import Options

EXAMPLE = """\b
Examples:
  mlx-spec generate --prompt "What is a draft model?" --draft-length 4
  mlx-spec generate --prompt-file notes.txt --max-tokens 200 --json"""


@args.takes_options()
def command(
    pair: args.PairName = None,
    prompt: Annotated[str | None, typer.Option(help="The prompt; without it, a file or stdin.")] = None,
    prompt_file: Annotated[Path | None, typer.Option(help="Read the prompt from this file.")] = None,
    raw: args.Raw = False,
    options: Options = args.FROM_FLAGS,
    stop: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="End the answer before this text. Repeatable.")
    ] = None,
    target: args.Target = None,
    draft: args.Draft = None,
    revision: args.Revision = None,
    draft_head: args.DraftHead = None,
    json: args.Json = False,
) -> int:
    """Answer one prompt.

    The text streams to stdout, its numbers go to stderr; --json prints both as one object.
    """
    from app.shell.prompt_source import read_prompt

    if "" in (stop or ()):
        raise BadInput("--stop is empty. Give at least one character.")
    if pair is not None and " " in pair:
        raise BadInput(f"'{pair}' is no pair's name. For a prompt: --prompt TEXT.")
    spec = args.chosen_pair(pair, target, draft, revision, draft_head)
    text = read_prompt(prompt, prompt_file)
    args.tell_config_problems()
    loaded = args.tuned_pair(spec, options)
    asked = text if raw else [Message(role="user", content=text.rstrip("\n"))]
    ended = _answer(Session(loaded), asked, options, stop or (), quiet=json)
    args.keep_learned(loaded, options)
    if json:
        json_data(report(ended))
    else:
        talk(numbers(ended))
    if ended.finish_reason == "cancelled":
        talk("The answer is not complete.")
        return exit_codes.INTERRUPTED
    return exit_codes.DONE


def _answer(
    session: Session, asked: str | list[Message], options: Options, stops: Sequence[str], quiet: bool
) -> TurnEnded:
    from app.shell.interrupt import Interrupt

    progress, last = Progress(), ""

    def reading(event: PrefillProgressed) -> None:
        progress.show(f"Reading the prompt: {event.done} of {event.total} tokens")

    with Interrupt() as interrupt:
        for event in session.answer(
            asked, options, stop_texts=stops, cancelled=lambda: interrupt.pressed, progress=reading
        ):
            if isinstance(event, TextAdded) and not quiet:
                progress.clear()
                for piece in event.pieces:
                    data(piece.text, end="")
                    last = piece.text
            if isinstance(event, TurnEnded):
                progress.clear()
                if not quiet and not last.endswith("\n"):
                    data("")
                return event
    raise AssertionError("an answer always ends with TurnEnded")


def report(ended: TurnEnded) -> dict[str, object]:
    """What `--json` prints."""
    from app.shell.machine import device_name, versions

    return {
        "text": ended.text,
        "token_ids": list(ended.token_ids),
        "finish_reason": ended.finish_reason,
        "seed": ended.seed,
        "stats": asdict(ended.stats),
        "versions": versions(),
        "device": device_name(),
    }


def numbers(ended: TurnEnded) -> str:
    """The answer's numbers in one line."""
    stats = ended.stats
    parts = [counted(stats.tokens, "token"), f"{stats.tokens_per_second:.1f} tokens/s"]
    if stats.draft_n:
        parts.append(f"{stats.accepted_per_round:.2f} accepted per round")
        parts.append(f"{stats.acceptance_rate:.0%} of {stats.draft_n} drafted")
    parts += [f"first token after {stats.time_to_first_token:.2f} s", f"seed {ended.seed}"]
    return ", ".join(parts)
