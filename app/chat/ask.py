"""How state without a screen has the person asked."""

from collections.abc import Awaitable, Callable

Ask = Callable[[str, str, str], Awaitable[bool]]
"""Shows a question and its two answers; True for the first answer."""
