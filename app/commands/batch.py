"""`batch`: a file of requests, answered side by side."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from app.commands import arguments as args
from app.commands import loading
from app.settings.options import AnswerOptions
from app.shell import exit_codes
from app.shell.named_file import check_place, plain_file
from app.shell.number_text import counted
from app.shell.output import talk

EXAMPLE = """\b
Examples:
  mlx-spec batch questions.jsonl answers.jsonl smollm2-135m
  mlx-spec batch questions.jsonl answers.jsonl --at-once 16"""


@args.with_flags(*args.SERVED)
def command(
    *,
    requests: Annotated[Path, typer.Argument(metavar="IN", help="Requests in OpenAI's batch format.")],
    answers: Annotated[Path, typer.Argument(metavar="OUT", help="The answers, one line each, as they come.")],
    pair: args.PairArguments,
    at_once: args.AtOnce = args.AT_ONCE,
    options: AnswerOptions,
) -> int:
    """Answer a file of requests.

    Each line of IN is a request of OpenAI's batch format: {"custom_id": "1", "method": "POST", "url":
    "/v1/chat/completions", "body": {"messages": [...]}}. After Ctrl+C or a kill the same command goes on:
    requests answered in OUT are not run again. Exit code 1 if a request failed, or if all were refused.
    """
    from app.server.batch import answer_all
    from app.server.batch_file import open_answers, read_requests

    loading.print_config_problems()
    asked, spec = read_requests(requests), pair.chosen()
    check_place("OUT", plain_file(str(answers)))
    with open_answers(answers, {request.custom_id for request in asked}) as written:
        left = [request for request in asked if request.custom_id not in written.answered]
        total = counted(len(asked), "request")
        if len(left) < len(asked):
            talk(f"Already answered: {len(asked) - len(left):,} of {total}.")
        if not left:
            return exit_codes.DONE
        try:
            outcome = asyncio.run(answer_all(spec, options, left, written, at_once))
        except KeyboardInterrupt:
            done = sum(request.custom_id in written.answered for request in asked)
            talk(f"Stopped at {done:,} of {total}. The same command goes on from there.")
            return exit_codes.INTERRUPTED
    refused = f" {answers} says why." if outcome.refused else ""
    talk(f"{outcome.text}.{refused}")
    if outcome.failed:
        talk(f"{counted(outcome.failed, 'request')} failed. The same command asks again.")
    answered = any(request.custom_id in written.answered for request in asked)
    return exit_codes.NO if outcome.failed or not answered else exit_codes.DONE
