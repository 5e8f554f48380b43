"""The app's errors, by what the user can do about them."""

from pathlib import Path
from traceback import extract_tb


class AppError(Exception):
    """Root of the app's errors. The message tells the user what is wrong, with the value, and what to do."""


class BadInput(AppError, ValueError):
    """An argument, a file or a prompt is not usable: change it (exit code 2)."""


class MachineFailed(AppError):
    """The machine, its terminal or its files got in the way (exit code 3)."""


def where(error: BaseException) -> str:
    """The type and place of an error, in place of its text, which may quote a prompt: for logs."""
    *_, last = extract_tb(error.__traceback__)
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
