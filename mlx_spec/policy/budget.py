"""What drafting may lose against plain decoding: "never slower" by adding up, not by tuning.

A balance in plain rounds. It grows by a share of the time spent and by what drafts gained; refused drafts,
looks at costs and shadow drafts are paid from it as timed. Nothing is begun whose expected loss it does not
cover.
"""

import math

SHARE = 0.01
"""Of the time spent decoding, what may be lost."""
START = 4.0
"""Plain rounds that a pair may lose before it gained any, and that any one answer may lose: two refusals of
the longest drafts that pay here. With one, an answer that begins badly would never draft again."""
RESERVE = 16.0
"""Plain rounds that are kept of what answers gained, at most: they pay for answers that are no good."""
SETTLED = 4
"""Plain rounds after which those before are judged by nothing newer."""


class Budget:
    """Plain rounds that may be lost. `plain` is what one takes now, in seconds; a round of several texts
    gains what each of them gains.

    Raises:
        ValueError: `reserve` is not a number.
    """

    def __init__(self, reserve: float = START):
        if not math.isfinite(reserve):
            raise ValueError("a reserve is a number of rounds")
        self.reserve = min(reserve, RESERVE)
        """What earlier answers left."""
        self._own = 0.0
        """What this answer gained, or lost."""
        self._tokens = self._seconds = 0.0
        """What drafts brought lately and took: judged by plain rounds timed after them, in case the machine
        changed its pace meanwhile."""
        self._plain = 1.0
        """What one took when it was last asked."""
        self._rested = 0

    def begin(self) -> None:
        """A new answer."""
        self.reserve, self._own = self.kept, 0.0
        self._tokens = self._seconds = 0.0

    def left(self, plain: float) -> float:
        """Plain rounds that may be lost now."""
        self._plain = plain
        return min(self.reserve, START) + self._balance

    @property
    def kept(self) -> float:
        """What the next answer begins with."""
        return min(self.reserve + self._balance, RESERVE)

    def spend(self, tokens: float, seconds: float) -> None:
        """A round that drafted, or a shadow draft beside it, gained `tokens` in `seconds`."""
        self._rested = 0
        self._tokens += tokens * (1 + SHARE)
        self._seconds += seconds

    def rest(self, tokens: float, plain: float) -> None:
        """A plain round."""
        self._own += SHARE * tokens
        self._plain = plain
        self._rested += 1
        if self._rested == SETTLED:
            self._own = self._balance
            self._tokens = self._seconds = 0.0

    @property
    def _balance(self) -> float:
        return self._own + self._tokens - self._seconds / self._plain
