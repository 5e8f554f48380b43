"""The text of one answer as it grows: decoded, marked, and ended at a stop text."""

from collections.abc import Callable, Sequence

from app.engine.events import Mark, Piece
from app.engine.pieces import text_of
from app.engine.text_stream import TextStream


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
        longest = 0
        for stop in self._stop_texts:
            for size in range(min(len(stop) - 1, len(held)), longest, -1):
                if held.endswith(stop[:size]):
                    longest = size
                    break
        return longest

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
