"""What can go wrong above the models, by what the person can do about it."""


class AppError(Exception):
    """Root of the app's errors. The message is for the user: what, the value, what to do."""


class BadInput(AppError, ValueError):
    """An argument, a file or a prompt is not usable: change it (exit code 2)."""


class MachineFailed(AppError):
    """The machine, its terminal or its files got in the way (exit code 3)."""
