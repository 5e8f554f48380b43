"""A budget for the time that drafting may lose, so that it is never slower than plain decoding.

It is counted in plain rounds. It grows by a share of the decoding time and by what drafts saved; rejected
drafts, probes and shadow drafts are charged as timed. Nothing is begun whose expected loss it does not cover.
"""

import math

SHARE = 0.01
"""Share of the decoding time that may be lost."""
START = 4.0
"""Plain rounds that a new pair may lose, and any one answer at most: two rejections of the longest drafts
that pay here. With one, an answer whose first draft is rejected would never draft again."""
RESERVE = 16.0
"""Plain rounds saved from earlier answers, at most: they pay for answers where drafts are rejected."""
SETTLED = 4
"""Plain rounds in a row after which the drafts before them are no longer revalued."""


class Budget:
    """Plain rounds that may be lost. `plain` is the current time of one, in seconds; `tokens` are a text's.

    Raises:
        ValueError: `reserve` is not finite.
    """

    def __init__(self, reserve: float = START):
        if not math.isfinite(reserve):
            raise ValueError("reserve is not finite")
        self.reserve = min(reserve, RESERVE)
        """Plain rounds left by earlier answers."""
        self._own = 0.0
        """Plain rounds gained or lost by this answer, without those of the latest drafts."""
        self._tokens = self._seconds = 0.0
        """Of the latest drafts. Seconds are converted to plain rounds by the plain time after them: the
        machine's speed may have changed meanwhile."""
        self._plain = 1.0
        """Seconds of a plain round, as last given."""
        self._plain_run = 0
        """Plain rounds since the last draft."""

    def begin(self) -> None:
        """Start a new answer."""
        self.reserve, self._own = self.kept, 0.0
        self._tokens = self._seconds = 0.0

    def left(self, plain: float) -> float:
        """Plain rounds that may be lost now."""
        self._plain = plain
        return min(self.reserve, START) + self._balance

    @property
    def kept(self) -> float:
        """Reserve of the next answer."""
        return min(self.reserve + self._balance, RESERVE)

    def spend(self, tokens: float, seconds: float) -> None:
        """Charge a round with a draft or a shadow draft, which gained `tokens` in `seconds`."""
        self._plain_run = 0
        self._tokens += tokens * (1 + SHARE)
        self._seconds += seconds

    def rest(self, tokens: float, plain: float) -> None:
        """Count a plain round."""
        self._own += SHARE * tokens
        self._plain = plain
        self._plain_run += 1
        if self._plain_run == SETTLED:
            self._own = self._balance
            self._tokens = self._seconds = 0.0

    @property
    def _balance(self) -> float:
        return self._own + self._tokens - self._seconds / self._plain
