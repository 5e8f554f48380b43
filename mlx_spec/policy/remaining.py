"""How many tokens of an answer are still to come, from how long the last answers were.

A drafter that missed a prompt has to read it before its first draft, and that has to pay by then.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping

AHEAD = 16
"""Tokens to come that are assumed of an answer that begins."""
ANSWERS = 16
"""Last answers that are remembered."""


class Remaining:
    """Expects the mean of the tokens written so far and of what each longer one of the last answers had left.

    Args:
        lengths: tokens of the last answers.
    """

    def __init__(self, lengths: Iterable[int] = ()) -> None:
        self._lengths = deque(lengths, maxlen=ANSWERS)
        self._written: dict[int, int] = {}
        """By text of the batch."""

    def begin(self, texts: Collection[int]) -> None:
        """Set the texts of the batch; those that leave have ended."""
        self._lengths.extend(self._written[text] for text in sorted(self._written.keys() - texts))
        self._written = {text: self._written.get(text, 0) for text in texts}

    def count(self, tokens: Mapping[int, int]) -> None:
        """Count the tokens of a round, by text."""
        for text, gained in tokens.items():
            self._written[text] = self._written.get(text, 0) + gained

    @property
    def lengths(self) -> list[int]:
        """Tokens of the last answers, and of those in the batch so far."""
        return [*self._lengths, *self._written.values()][-ANSWERS:]

    @property
    def expected(self) -> float:
        """Tokens to come, mean of the batch."""
        written = self._written.values() or (0,)
        return sum(map(self._after, written)) / len(written)

    def _after(self, written: int) -> float:
        left = [length - written for length in self._lengths if length > written]
        return (max(written, AHEAD) + sum(left)) / (1 + len(left))
