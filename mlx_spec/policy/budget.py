"""A budget for the time that drafting may lose, so that it is never slower than plain decoding.

It is counted in plain rounds. It grows by a share of the decoding time and by what drafts saved; rejected
drafts, probes and shadow drafts are charged as timed. Nothing is begun whose expected loss it does not cover.

Each text of a batch has an account, since a draft that gains for most may lose for one (`for_all`).
"""

import math
from collections.abc import Collection, Mapping, Sequence

SHARE = 0.01
"""Share of the decoding time that may be lost."""
START = 4.0
"""Plain rounds that a new pair may lose, and any one answer at most: two rejections of the longest drafts
that pay here. With one, an answer whose first draft is rejected would never draft again."""
RESERVE = 16.0
"""Plain rounds saved from earlier answers, at most: they pay for answers where drafts are rejected."""
SETTLED = 4
"""Plain rounds in a row after which the drafts before them are no longer revalued."""


def for_all(each: Sequence[float], fixed: float) -> float:
    """Time until all texts of a batch are done, from the time that each would need.

    Rounds take `fixed` of their time however few texts are left, so that much is waited for the slowest.
    """
    return fixed * max(each) + (1 - fixed) * sum(each) / len(each)


class Budget:
    """Plain rounds that may be lost. `plain` is the current time of one, in seconds.

    Raises:
        ValueError: `reserve` is not finite.
    """

    def __init__(self, reserve: float = START):
        if not math.isfinite(reserve):
            raise ValueError("reserve is not finite")
        self._reserve = _kept(reserve)
        """Plain rounds left by earlier texts."""
        self._fixed = 0.0
        self._own: dict[int, float] = {}
        """By text: plain rounds gained or lost, without those of the latest drafts."""
        self._tokens: dict[int, float] = {}
        """By text, of the latest drafts."""
        self._seconds = 0.0
        """Of the latest drafts. They are converted to plain rounds by the plain time after them: the
        machine's speed may have changed meanwhile."""
        self._plain = 1.0
        """Seconds of a plain round, as last given."""
        self._plain_run = 0
        """Plain rounds since the last draft."""

    def begin(self, texts: Collection[int], fixed: float) -> None:
        """Set the texts of the batch; those that stay keep their accounts. `fixed` as in `for_all`."""
        kept = self.kept
        self._settle()
        self._fixed, self._own = fixed, {text: self._own.get(text, 0.0) for text in texts}
        self._reserve = kept - self._balance

    def left(self, plain: float) -> float:
        """Plain rounds that may be lost now."""
        self._plain = plain
        return min(self._reserve, START) + self._balance

    @property
    def kept(self) -> float:
        """Reserve of the next texts."""
        return _kept(self._reserve + self._balance)

    def spend(self, tokens: Mapping[int, int], seconds: float) -> None:
        """Charge a round with a draft or a shadow draft, which gained each text's `tokens` in `seconds`."""
        self._plain_run = 0
        self._seconds += seconds
        for text, gained in tokens.items():
            self._tokens[text] = self._tokens.get(text, 0.0) + gained * (1 + SHARE)

    def rest(self, tokens: Mapping[int, int], plain: float) -> None:
        """Count a plain round."""
        for text, gained in tokens.items():
            self._own[text] = self._own.get(text, 0.0) + gained * SHARE
        self._plain = plain
        self._plain_run += 1
        if self._plain_run == SETTLED:
            self._settle()

    def _settle(self) -> None:
        self._own, self._tokens, self._seconds = self._accounts(), {}, 0.0

    def _accounts(self) -> dict[int, float]:
        spent = self._seconds / self._plain
        return {text: own + self._tokens.get(text, 0.0) - spent for text, own in self._own.items()}

    @property
    def _balance(self) -> float:
        return -for_all([-account for account in self._accounts().values()] or [0.0], self._fixed)


def _kept(rounds: float) -> float:
    """A debt beyond what an answer may lose is not the drafts': the program was stopped, or the machine."""
    return max(-START, min(rounds, RESERVE))
