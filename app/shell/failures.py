"""How an error ends a command: its exit code and its message."""

import typer

from app.shell import exit_codes
from app.shell.errors import AppError, MachineFailed

DEBUG = "--debug"
"""Accepted anywhere on the command line; shows the traceback of an error."""

MEMORY_FULL = "The memory is full. Choose a smaller pair (`mlx-spec pairs`), or close other programs."

LONGEST_MESSAGE = 2000
"""Characters. The help of a group has fewer."""


def failure(error: Exception) -> tuple[int, str]:
    """The exit code of an error, and the message for stderr: one or two lines."""
    code, message = _failure(error)
    if len(message) > LONGEST_MESSAGE:  # it quotes a whole text, given where a name was wanted
        message = f"{message[: LONGEST_MESSAGE // 4]} … {message[-LONGEST_MESSAGE // 4 :]}"
    return code, message


def _failure(error: Exception) -> tuple[int, str]:
    from mlx_spec.errors import OutOfRange, SpecError
    from models.errors import MachineTrouble, ModelsError, PullCancelled, is_lack_of_memory

    match error:
        case typer.TyperException():
            return exit_codes.WRONG_USE, _usage(error)
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


def _usage(error: typer.TyperException) -> str:
    """One or two lines; or the help of a group that was given no command."""
    context = getattr(error, "ctx", None)  # typer's own type of a usage error is private
    message = error.format_message()
    if context is not None and message == context.get_help():
        return message
    if isinstance(error, typer.BadParameter) and (refused := _refused(error)) is not None:
        return refused
    command = context.command_path if context is not None else "mlx-spec"
    return f"{message}\nSee `{command} --help`."


def _refused(error: typer.BadParameter) -> str | None:
    """A value that typer, which leaves them to pydantic, could not use; it would not be told otherwise."""
    from pydantic import ValidationError

    if error.param is None or not isinstance(error.__context__, ValidationError):
        return None
    names = getattr(error.param, "opts", None) or [error.param.name]
    first = error.__context__.errors()[0]
    bounds = first.get("ctx", {})
    match first["type"]:
        case "int_parsing" | "int_from_float":
            must = "a whole number"
        case "int_parsing_size":
            must = "a number of fewer digits"
        case "greater_than_equal":
            must = f"at least {bounds['ge']}"
        case "less_than_equal":
            must = f"at most {bounds['le']}"
        case "value_error":
            return f"{names[0]}: {bounds['error']}"
        case _:
            return None
    return f"{names[0]} is {str(first['input']) or 'empty'}; it must be {must}."
