"""Models on the Hub by words in their names.

A child process asks: the Hub's library is slow to load, and reads its settings once.
"""

import time
from dataclasses import dataclass

from models.child import ChildDied, ask_child, module
from models.errors import MachineTrouble
from models.hub.endpoint import check_endpoint

SECONDS = 30
"""Without an answer."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A repository with MLX weights."""

    repo: str
    bytes: int
    """Of its weights; 0 where the Hub does not say."""
    licence: str
    downloads: int
    """In the last 30 days."""
    gated: bool
    """Its terms have to be accepted first."""


def search(words: str) -> list[FoundModel]:
    """The models most often downloaded first.

    Raises:
        MachineTrouble: the Hub cannot be reached, or refuses.
    """
    check_endpoint()
    end = time.monotonic() + SECONDS
    try:
        with ask_child(module("models.hub.search_child"), words) as messages:
            found = next((m for m in messages if m is not None or time.monotonic() > end), None)
    except ChildDied as error:
        raise MachineTrouble(f"The search ended unexpectedly ({error}).") from None
    if found is None:
        raise MachineTrouble(f"The Hub did not answer within {SECONDS} s. Search again.")
    return found
