"""How an error ends a command: its exit code, and what the user reads."""

import typer

from app.shell import exit_codes
from app.shell.errors import AppError, MachineFailed
from app.shell.usage_text import usage_text

DEBUG = "--debug"
"""Accepted anywhere on the command line: shows the traceback of an error."""

MEMORY_FULL = "The memory is full. Choose a smaller pair (`mlx-spec pairs`), or close other programs."


def error_message(error: Exception) -> tuple[int, str]:
    """The exit code of an error, and what to say about it."""
    from mlx_spec.errors import OutOfRange, SpecError
    from models.errors import MachineTrouble, ModelsError, PullCancelled, is_lack_of_memory

    match error:
        case typer.TyperException():
            return exit_codes.WRONG_USE, usage_text(error)
        case typer.Abort() | PullCancelled():
            return exit_codes.INTERRUPTED, str(error) or "Stopped."
        case OutOfRange():
            return exit_codes.WRONG_USE, error.of(f"--{error.option.replace('_', '-')}")
        case MachineFailed() | MachineTrouble():
            return exit_codes.MACHINE_FAILED, str(error)
        case AppError() | ModelsError() | SpecError():
            return exit_codes.WRONG_USE, str(error)
        case OSError():
            return exit_codes.MACHINE_FAILED, f"The system says: {error}"
        case _ if is_lack_of_memory(error):
            return exit_codes.MACHINE_FAILED, MEMORY_FULL
        case _:
            what = f"{type(error).__name__}: {error}".splitlines()[0][:300]
            return (
                exit_codes.MACHINE_FAILED,
                f"Something failed inside: {what}\nRepeat with {DEBUG} to see where.",
            )
