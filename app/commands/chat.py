"""`chat`: the terminal app; without a screen to draw on, a conversation over stdin and stdout."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from app.chat.settings import Settings
from app.commands import arguments as args
from app.commands import loading
from app.commands.generate import first_event, print_answer
from app.commands.serve import api_key
from app.engine.chat_prompt import Message
from app.engine.protocol import Answer
from app.engine.session import Session
from app.history.store import opened_history
from app.settings.options import AnswerOptions
from app.shell import exit_codes
from app.shell.errors import BadInput
from app.shell.output import data, is_dumb, talk
from app.shell.prompt_source import LARGEST_PROMPT, decoded
from models.pairs.pair import PairSpec, Source

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

EXAMPLE = "\b\nExamples:\n  mlx-spec chat --temperature 0.7\n  printf 'Hello\\n' | mlx-spec chat"


@args.with_flags()
def command(
    *,
    options: AnswerOptions,
    keeps_seed: bool,
    pair: args.PairArguments,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="ID|last",
            help="Go on with a saved chat, with its own instructions and options; see `history list`.",
        ),
    ] = None,
    temporary: Annotated[
        bool, typer.Option("--temporary", help="Begin a temporary chat, which is not saved.")
    ] = False,
    server: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Use a running `mlx-spec serve`, here or on another machine; its key in MLX_SPEC_API_KEY.",
        ),
    ] = None,
) -> int:
    """Chat in the terminal.

    Without a full screen (a pipe, TERM=dumb): one answer per group of lines, separated by empty lines.
    """
    if temporary and resume is not None:
        raise BadInput("--temporary begins a chat and --resume goes on with one. Give one of them.")
    client = None
    if server is not None:
        from app.engine.server_client import ServerClient

        if pair != args.PairArguments():
            raise BadInput(
                f"The server at {server} has its own pair. Leave out --server, or what names a pair."
            )
        if not has_screen():
            raise BadInput(
                f"--server opens the full screen, and there is none here. Ask {server} itself: "
                "docs/serving.md."
            )
        client = ServerClient(server, api_key())
    spec = PairSpec(client.pair_name(), Source(client.url), None) if client else pair.chosen()
    if has_screen():
        from app.tui.run import run_chat

        settings = Settings.of(options, keeps_seed=keeps_seed)
        chat = None if resume is None else saved_chat(resume)
        welcomes = not (pair.pair or pair.target or resume or server)
        return run_chat(spec, settings, chat, is_kept=not temporary, welcomes=welcomes, server=client)
    if resume is not None:
        raise BadInput("--resume opens the full screen, and there is none here.")
    greeting = Answer(0, (Message(role="user", content="Hi"),), options)
    # A model that cannot chat says so before it is measured.
    with loading.tuned_pair(spec, options, lambda loaded: first_event(loaded, greeting)) as loaded:
        return answer_lines(loaded, options)


def has_screen() -> bool:
    """Whether the terminal can be drawn on."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not is_dumb()


def saved_chat(name: str) -> str:
    """The full id of the named chat; an unknown one fails before a screen opens."""
    with opened_history(to_read=True) as history:
        return history.find(name).id


def answer_lines(pair: "LoadedPair", options: AnswerOptions) -> int:
    """Answer every group of lines until the input ends; return the exit code."""
    session, messages = Session(pair), list[Message]()
    if options.temperature:
        talk(f"Seed {options.seed}.")
    if sys.stdin.isatty():
        talk("Write a prompt, then an empty line: the answer follows. Ctrl+D ends the chat.")
    for prompt in line_groups():
        messages.append(Message(role="user", content=prompt))
        ended, *_ = print_answer(session, Answer(0, tuple(messages), options, parts=True))
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
        text = decoded(line, f"Line {number} of stdin", LARGEST_PROMPT).rstrip("\r\n")
        if text.strip():
            group.append(text)
        elif group:
            yield "\n".join(group)
            group = []
    if group:
        yield "\n".join(group)
