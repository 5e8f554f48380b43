"""What can go wrong above the models, by what the person can do about it.

AppError
├── BadInput        an argument, a file or a prompt is not usable: change it (exit code 2)
└── MachineFailed   the machine, its terminal or its files got in the way (exit code 3)
"""


class AppError(Exception):
    """Root of the app's errors. The message is for the user: what, the value, what to do."""


class BadInput(AppError, ValueError):
    """Something that was given cannot be used."""


class MachineFailed(AppError):
    """Something outside the program failed."""
