"""How long to draft: a function of past rounds that knows nothing of drafters."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from mlx_spec.types import Round


@runtime_checkable
class DraftLength(Protocol):
    """Chooses the next round's draft length from the rounds read so far; 0 is a plain round."""

    def __call__(self, rounds: Sequence[Round]) -> int: ...


class Fixed:
    """The same length every round."""

    def __init__(self, length: int):
        self.length = length

    def __call__(self, rounds: Sequence[Round]) -> int:
        return self.length
