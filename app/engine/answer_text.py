"""The text of one answer as it grows: decoded, marked, and ended at a stop text."""

from collections.abc import Callable, Sequence

from app.engine.events import Mark, Piece, text_of

LONGEST_CHARACTER = 8
"""Tokens after which a broken character is shown as such: UTF-8 needs at most four bytes."""

BROKEN = "\ufffd"


class TextStream:
    """The text of a growing list of tokens. `add` and `end` together return exactly all of it.

    A character may be spread over several tokens (an emoji over four), and how a token reads can depend
    on the one before it. So text is decoded in a window: the tokens that were shown last, plus those
    waiting. What the waiting ones add is shown once it does not end inside a character.
    """

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


class AnswerText:
    """Tokens in, pieces to show out.

    Text that could be the beginning of a stop text waits until it is certain that it is not.
    A character made of several tokens carries the mark of its last one.
    """

    def __init__(
        self,
        decode: Callable[[Sequence[int]], str],
        stop_texts: Sequence[str] = (),
        before: Sequence[int] = (),
    ) -> None:
        """`before` are the tokens that the first one follows; how it reads can depend on them."""
        self._stream = TextStream(decode, before)
        self._stop_texts = tuple(stop_texts)
        self._ids: list[int] = []
        self._begins: list[int] = []
        self._decoded = 0
        self._shown: list[str] = []
        self._held: list[Piece] = []
        self.stopped = False
        """A stop text was found: nothing that comes after it belongs to the answer."""

    @property
    def text(self) -> str:
        """All text shown so far."""
        return "".join(self._shown)

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The tokens behind the text; after a stop text, those that begin before it."""
        if not self.stopped:
            return tuple(self._ids)
        length = sum(map(len, self._shown))
        return tuple(i for i, begin in zip(self._ids, self._begins, strict=True) if begin < length)

    @property
    def decoded(self) -> int:
        """Characters that became certain so far, held ones included."""
        return self._decoded

    def add(self, token: int, mark: Mark) -> list[Piece]:
        """Take one token; return what can be shown because of it."""
        if self.stopped:
            return []
        self._ids.append(token)
        self._begins.append(self._decoded)
        return self._take(self._stream.add(token), mark)

    def end(self, mark: Mark) -> list[Piece]:
        """What was still waiting when the answer ended."""
        if self.stopped:
            return []
        pieces = self._take(self._stream.end(), mark)
        return pieces if self.stopped else pieces + self._show(len(text_of(self._held)))

    def _take(self, text: str, mark: Mark) -> list[Piece]:
        if not text:
            return []
        self._decoded += len(text)
        self._held.append(Piece(text, mark))
        held = text_of(self._held)
        found = [held.index(stop) for stop in self._stop_texts if stop in held]
        if found:
            pieces = self._show(min(found))
            self._held, self.stopped = [], True
            return pieces
        return self._show(len(held) - self._doubtful(held))

    def _doubtful(self, held: str) -> int:
        """Length of the longest end of `held` that could grow into a stop text."""
        beginnings = (stop[:size] for stop in self._stop_texts for size in range(1, len(stop)))
        return max((len(begun) for begun in beginnings if held.endswith(begun)), default=0)

    def _show(self, length: int) -> list[Piece]:
        """Release the first `length` held characters."""
        out: list[Piece] = []
        while length and self._held:
            piece = self._held.pop(0)
            if len(piece.text) > length:
                self._held.insert(0, Piece(piece.text[length:], piece.mark))
                piece = Piece(piece.text[:length], piece.mark)
            length -= len(piece.text)
            out.append(piece)
        self._shown += [piece.text for piece in out]
        return out
