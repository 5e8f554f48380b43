"""Searching models on the Hub by words in their names.

In a child process: the Hub's library is slow to import, and reads its settings only once.
"""

import time
from dataclasses import dataclass

from models.child import ChildDied, ask_child, module
from models.errors import MachineTrouble
from models.hub.endpoint import check_variables

SECONDS, SHOWN = 30, 50
"""Time limit of a search, and the most models that it finds."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A repository with MLX weights."""

    repo: str
    bytes: int
    """Of its weights; 0 if the Hub does not say."""
    licence: str
    downloads: int
    """In the last 30 days."""
    gated: bool
    """Its terms must be accepted before download."""


def search(words: str) -> list[FoundModel]:
    """Matching models, most downloads first.

    Raises:
        MachineTrouble: the Hub cannot be reached, or refuses.
    """
    check_variables()
    end = time.monotonic() + SECONDS
    try:
        with ask_child(module("models.hub.search_child"), words) as messages:
            found = next((m for m in messages if m is not None or time.monotonic() > end), None)
    except ChildDied as error:
        raise MachineTrouble(f"The search ended unexpectedly ({error}).") from None
    if found is None:
        raise MachineTrouble(f"The Hub did not answer within {SECONDS} s. Search again.")
    return found
