"""Token ids in, text out as soon as it is certain.

A character may be spread over several tokens (an emoji over four), and how a token reads can depend
on the one before it. So text is decoded in a window: the tokens that were shown last, plus those
waiting. What the waiting ones add is shown once it does not end inside a character.
"""

from collections.abc import Callable, Sequence

LONGEST_CHARACTER = 8
"""Tokens after which a broken character is shown as such: UTF-8 needs at most four bytes."""

BROKEN = "\ufffd"


class TextStream:
    """The text of a growing list of tokens. `add` and `end` together return exactly all of it."""

    def __init__(self, decode: Callable[[Sequence[int]], str], before: Sequence[int] = ()) -> None:
        self._decode = decode
        self._shown = list(before[-LONGEST_CHARACTER:])
        self._waiting: list[int] = []

    def add(self, token: int) -> str:
        """Take one token; return the text that became certain, often empty."""
        self._waiting.append(token)
        text = self._text_of_waiting()
        if not text or (text.endswith(BROKEN) and len(self._waiting) < LONGEST_CHARACTER):
            return ""
        self._settle()
        return text

    def end(self) -> str:
        """The text still waiting, broken characters included."""
        text = self._text_of_waiting()
        self._settle()
        return text

    def _text_of_waiting(self) -> str:
        before = self._decode(self._shown) if self._shown else ""
        return self._decode(self._shown + self._waiting)[len(before) :]

    def _settle(self) -> None:
        if self._waiting:
            self._shown, self._waiting = self._waiting, []
