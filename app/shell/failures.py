"""How an error ends a command: its exit code and its message."""

import os
from errno import ENOENT

import typer

from app.shell import exit_codes
from app.shell.errors import AppError, MachineFailed, where
from app.shell.runtime import rank
from mlx_spec.errors import OutOfRange, RankLost, SpecError
from models.errors import MachineTrouble, ModelsError, PullCancelled, is_full_disk, is_lack_of_memory

DEBUG = "--debug"
"""Accepted anywhere on the command line; shows the traceback of an error."""


def failure(error: Exception) -> tuple[int, str]:
    """The exit code of an error, and the message for stderr: one or two lines."""
    match error:
        case typer.TyperException():
            return exit_codes.WRONG_USE, _usage(error)
        case typer.Abort() | PullCancelled():
            return exit_codes.INTERRUPTED, str(error) or "Stopped."
        case OutOfRange():
            return exit_codes.WRONG_USE, error.of(f"--{error.option.replace('_', '-')}")
        case MachineFailed() | MachineTrouble() | RankLost():
            return exit_codes.MACHINE_FAILED, str(error)
        case AppError() | ModelsError() | SpecError():
            return exit_codes.WRONG_USE, str(error)
        case _ if is_full_disk(error):
            message = f"The disk is full ({error}). Free space, and give the same command again."
        case FileNotFoundError(filename=None) if error.strerror == os.strerror(ENOENT):
            message = "The folder you are in was deleted. Change to another, and give the same command again."
        case OSError():
            message = f"The system reports: {error}"
        case _ if is_lack_of_memory(error):
            message = "The memory is full. Choose a smaller pair (`mlx-spec pairs`), or close other programs."
        case _:
            # Rank 0's prompts are not printed by others.
            what = where(error) if rank() else f"{type(error).__name__}: {error}".splitlines()[0][:300]
            message = f"Something failed inside: {what}\nRepeat with {DEBUG} to see where."
    return exit_codes.MACHINE_FAILED, message


_WANTED = {
    "a valid integer": "a whole number",
    "a valid number": "a number",
    "greater than or equal to": "at least",
    "less than or equal to": "at most",
}
"""Words of pydantic, which reads typer's numbers, and ours."""


def _bad_number(error: typer.TyperException) -> str:
    """The error of a number in the words of `OutOfRange`; empty for any other error."""
    from pydantic import ValidationError

    if not isinstance(error.__cause__, ValidationError):
        return ""
    found = error.__cause__.errors(include_url=False)[0]
    wanted = found["msg"].partition(",")[0]
    if not wanted.startswith("Input should be "):
        return ""
    wanted = wanted.removeprefix("Input should be ")
    for theirs, ours in _WANTED.items():
        wanted = wanted.replace(theirs, ours)
    _, option, _ = error.format_message().split("'", 2)
    return f"{option} is {found['input'] or 'empty'}; it must be {wanted}."


def _usage(error: typer.TyperException) -> str:
    """The error in one or two lines, or the help of a group that was called without a command."""
    context = getattr(error, "ctx", None)  # typer's own type of a usage error is private
    # Without the words that pydantic puts before typer's own.
    message = _bad_number(error) or error.format_message().replace("Value error, ", "", 1)
    if context is not None and message == context.get_help():
        return message
    command = context.command_path if context is not None else "mlx-spec"
    return f"{message}\nSee `{command} --help`."
