"""The text of one answer as it grows: decoded, marked, and ended at a stop text."""

from collections import deque
from collections.abc import Callable, Sequence

from app.engine.events import Mark, Piece

LONGEST_CHARACTER = 8
"""Tokens after which an incomplete character is shown as broken: UTF-8 needs at most four bytes."""

BROKEN = "\ufffd"


class AnswerText:
    """Tokens in, pieces to show out.

    A character may span several tokens (an emoji four; it gets the mark of the last), and a token's text
    can depend on the tokens before it (`before`: those that the answer goes on from; `opened`: text of theirs
    that belongs to the answer). So text is decoded in
    a window: the tokens decoded last, plus those that wait for the rest of a character. Text that may begin
    a stop text is held. No stop text is looked for in a thought or a mark: `unseen_in` says how much of the
    text that comes next is one, and whether more text may tell otherwise.
    """

    def __init__(
        self,
        decode: Callable[[Sequence[int]], str],
        stop_texts: Sequence[str] = (),
        before: Sequence[int] = (),
        opened: str = "",
        unseen_in: Callable[[str], tuple[int, bool]] = lambda text: (0, False),
    ) -> None:
        self._decode, self._unseen_in = decode, unseen_in
        self._stop_texts = stop_texts
        self._window = list(before[-LONGEST_CHARACTER:])
        self._waiting: list[int] = []
        self._begins: list[tuple[int, int]] = []
        """Each token, and where its text begins (characters)."""
        self._decoded = opened
        self._opening = [Piece(opened, "plain")] if opened else []
        """Shown with the first text, which is a thought's as it is: it opens one in the prompt."""
        self.shown = len(opened)
        """Characters released as part of the answer."""
        self._held: deque[tuple[int, Mark]] = deque()
        """The end and mark of each piece of text not shown yet."""
        self.stopped_at: str | None = None
        """The stop text that was found; the answer ends before it."""

    @property
    def stopped(self) -> bool:
        return self.stopped_at is not None

    @property
    def text(self) -> str:
        return self._decoded[: self.shown]

    @property
    def token_ids(self) -> tuple[int, ...]:
        """The tokens of the text; with a stop text, those that begin before it."""
        return tuple(token for token, begin in self._begins if not self.stopped or begin < self.shown)

    @property
    def decoded(self) -> int:
        """Characters decoded so far, held ones included."""
        return len(self._decoded)

    def add(self, token: int, mark: Mark) -> list[Piece]:
        if not self._begins:
            self._leave_out_begun()
        self._begins.append((token, self.decoded))
        self._waiting.append(token)
        text = self._waiting_text()
        if text.endswith(BROKEN) and len(self._waiting) < LONGEST_CHARACTER:
            return []
        return self._take(text, mark)

    def end(self, mark: Mark) -> list[Piece]:
        if self.stopped:
            return []
        pieces = self._take(self._waiting_text(), mark, ends=True)
        return pieces if self.stopped else pieces + self._show(self.decoded)

    def _leave_out_begun(self) -> None:
        """Take a character out of the window that the answer may complete: it would hide text after it."""
        while self._window and self._decode(self._window).endswith(BROKEN):
            self._window.pop()

    def _waiting_text(self) -> str:
        before = self._decode(self._window) if self._window else ""
        return self._decode(self._window + self._waiting)[len(before) :]

    def _take(self, text: str, mark: Mark, *, ends: bool = False) -> list[Piece]:
        if not text and not ends:
            return []
        self._window, self._waiting = self._waiting, []
        self._decoded += text
        self._held.append((self.decoded, mark))
        held = self._decoded[self.shown :]
        unseen, waits = (len(held), False) if self._opening else self._unseen_in(held)
        if waits and not ends:
            return []
        pieces = self._show(self.shown + unseen) if unseen else []
        held = self._decoded[self.shown :]
        found = [(held.index(stop), stop) for stop in self._stop_texts if stop in held]
        if found:
            at, self.stopped_at = min(found)
            return pieces + self._show(self.shown + at)
        begun = (n for stop in self._stop_texts for n in range(1, len(stop)) if held.endswith(stop[:n]))
        return pieces + self._show(self.decoded - max(begun, default=0))

    def _show(self, until: int) -> list[Piece]:
        pieces, self._opening = self._opening, []
        while self.shown < until:
            end, mark = self._held[0]
            if end <= until:
                self._held.popleft()
            pieces.append(Piece(self._decoded[self.shown : min(end, until)], mark))
            self.shown = min(end, until)
        return pieces
