"""The app's errors, by what the user can do about them."""

from pathlib import Path
from traceback import extract_tb


class AppError(Exception):
    """Root of the app's errors. The message tells the user what is wrong, with the value, and what to do."""


class BadInput(AppError, ValueError):
    """An argument, a file or a prompt is not usable: change it (exit code 2)."""


class BadField(BadInput):
    """A field of a request to the engine is not usable: `prompt`, `tools` or `suffix`."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(field, message)
        self.field, self.message = field, message

    def __str__(self) -> str:
        return self.message


class MachineFailed(AppError):
    """The machine, its terminal or its files got in the way (exit code 3)."""


def where(error: BaseException) -> str:
    """The type of an error, and its place if it was raised, instead of its text, which may quote a prompt."""
    frames = extract_tb(error.__traceback__)[-1:]
    return type(error).__name__ + "".join(f" at {Path(at.filename).name}:{at.lineno}" for at in frames)
