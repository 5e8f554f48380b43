"""How an error ends a command: its exit code and its message."""

import typer

from app.shell import exit_codes
from app.shell.errors import AppError, MachineFailed
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
        case OSError():
            message = f"The system reports: {error}"
        case _ if is_lack_of_memory(error):
            message = "The memory is full. Choose a smaller pair (`mlx-spec pairs`), or close other programs."
        case _:
            what = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            message = f"Something failed inside: {what}\nRepeat with {DEBUG} to see where."
    return exit_codes.MACHINE_FAILED, message


def _usage(error: typer.TyperException) -> str:
    """The error in one or two lines, or the help of a group that was called without a command."""
    context = getattr(error, "ctx", None)  # typer's own type of a usage error is private
    message = error.format_message()
    if context is not None and message == context.get_help():
        return message
    command = context.command_path if context is not None else "mlx-spec"
    return f"{message}\nSee `{command} --help`."
