"""What drafting may lose against plain decoding: "never slower" by adding up, not by tuning.

A balance in plain rounds. It grows by a share of the time spent and by what drafts gained; refused drafts,
looks at costs and shadow drafts are paid from it as timed. Nothing is begun that it does not cover.
"""

SHARE = 0.01
"""Of the time spent decoding, what may be lost."""
START = 2.0
"""Plain rounds that an answer may lose beyond that: what other answers gained is no excuse."""
SETTLED = 4
"""Plain rounds after which those before are judged by nothing newer."""


class Budget:
    """Plain rounds that may be lost. `plain` is what one takes now, in seconds."""

    def __init__(self, balance: float = START):
        self.balance = min(balance, START)
        self._tokens = self._seconds = 0.0
        """What drafts brought lately and took: judged by plain rounds timed after them, in case the machine
        changed its pace meanwhile."""
        self._rested = 0

    def begin(self, plain: float) -> None:
        """A new answer."""
        self._settle(plain)
        self.balance = min(self.balance, START)

    def left(self, plain: float) -> float:
        """Plain rounds that may be lost now."""
        return self.balance + self._tokens - self._seconds / plain

    def spend(self, tokens: int, seconds: float) -> None:
        """A round that drafted, or a shadow draft beside it, gained `tokens` in `seconds`."""
        self._rested = 0
        self._tokens += tokens * (1 + SHARE)
        self._seconds += seconds

    def rest(self, tokens: int, plain: float) -> None:
        """A plain round."""
        self.balance += SHARE * tokens
        self._rested += 1
        if self._rested == SETTLED:
            self._settle(plain)

    def _settle(self, plain: float) -> None:
        self.balance = self.left(plain)
        self._tokens = self._seconds = 0.0
