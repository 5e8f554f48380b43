"""`serve`: the pair as an HTTP server."""

import os
import re
from typing import Annotated

import typer

from app.commands import arguments as args
from app.commands import loading
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput
from models.pairs.installed import installed_folder

KEY_VARIABLE = "MLX_SPEC_API_KEY"

HOST = re.compile(r"[\w.-]+|([0-9a-fA-F.]*:){2,}[0-9a-fA-F.]*")
"""A name or an address, without scheme and port."""
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\sA-Z]+")
"""What browsers send: lower case, no path."""

EXAMPLE = """\b
Examples:
  mlx-spec serve smollm2-135m
  MLX_SPEC_API_KEY=... mlx-spec serve --host 192.168.1.7 --port 9000"""


@args.with_flags(*args.SERVED)
def command(
    *,
    pair: args.PairArguments,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen on; any but localhost needs a key.")
    ] = "localhost",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 8080,
    at_once: args.AtOnce = args.AT_ONCE,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Accept requests to this host name too. Repeatable."),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ORIGIN", help="Accept requests of web pages from http://host:port. Repeatable."
        ),
    ] = None,
    options: AnswerOptions,
) -> None:
    """Answer over HTTP, in OpenAI's API.

    Anthropic's API is served too; docs/serving.md has the endpoints, limits and safety rules.

    Sampling and drafting options are defaults that a request may override. The key that clients must send
    is read from the environment: MLX_SPEC_API_KEY.
    """
    from app.server.run import run_server

    for option, names in (("--host", [host]), ("--allow-host", allow_host or ())):
        if wrong := [name for name in names if not HOST.fullmatch(name)]:
            raise BadInput(
                f"{option} is {wrong[0] or 'empty'}; it must be a name without scheme and port: mac.local."
            )
    for origin in allow_origin or ():
        if not ORIGIN.fullmatch(origin):
            why = "any page opened as a file sends" if origin == "null" else "no browser sends"
            raise BadInput(
                f"--allow-origin is {origin or 'empty'}, which {why}. Give scheme, host and port, "
                "in lower case and without a path: http://localhost:3000."
            )
    loading.print_config_problems()
    spec = pair.chosen()
    for source in spec.sources:
        installed_folder(source, spec)  # an error if it is missing, before the address is printed
    run_server(
        spec,
        options,
        host=host,
        port=port,
        key=api_key(),
        at_once=at_once,
        names=allow_host or (),
        origins=allow_origin or (),
    )


def api_key() -> str:
    """The key in the environment; empty: none. An error must not show it, as one of the HTTP client would."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if len(key.splitlines()) > 1:
        raise BadInput(f"{KEY_VARIABLE} has a line break, which cannot be sent. Set a key of one line.")
    return key
