"""The app's errors, by what the user can do about them."""


class AppError(Exception):
    """Root of the app's errors. The message tells the user what is wrong, with the value, and what to do."""


class BadInput(AppError, ValueError):
    """An argument, a file or a prompt is not usable: change it (exit code 2)."""


class MachineFailed(AppError):
    """The machine, its terminal or its files got in the way (exit code 3)."""
