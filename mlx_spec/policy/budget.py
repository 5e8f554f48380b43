"""A budget for the time that drafting may lose, so that it is never slower than plain decoding.

It is counted in plain rounds. It grows by a share of the decoding time and by what drafts saved; rejected
drafts, probes and shadow drafts are charged as timed. They begin only if their expected loss is covered by
the budget, or by what the round itself adds.

Each text of a batch has an account, since a draft that gains for most may lose for one (`for_all`).
"""

from collections.abc import Collection, Mapping

import numpy as np

SHARE = 0.01
"""Share of the decoding time that may be lost."""
START = 4.0
"""Plain rounds that a new pair may lose, and any one answer at most: two rejections of the longest drafts
that pay here. With one, an answer whose first draft is rejected would never draft again. In batches half of
it, as all texts lose it."""
RESERVE = 16.0
"""Plain rounds saved from earlier answers, at most: they pay for answers where drafts are rejected."""


def start(texts: int) -> float:
    """Plain rounds that may be lost before any were saved."""
    return START if texts == 1 else START / 2


def for_all(each: np.ndarray, fixed: float) -> np.ndarray:
    """[...], time until all texts of a batch are done, from [texts, ...], the time that each would need.

    A share `fixed` of a round's time is the same however few texts are left: in it all wait for the slowest.
    """
    if len(each) == 1:
        return each[0]
    return fixed * each.max(axis=0) + (1 - fixed) * each.sum(axis=0) / len(each)


class Budget:
    """Plain rounds that may be lost."""

    def __init__(self, reserve: float = START):
        self._reserve = _kept(reserve)
        """Plain rounds left by earlier texts."""
        self._fixed = 0.0
        self._own: dict[int, float] = {}
        """By text: plain rounds gained or lost."""

    def begin(self, texts: Collection[int], fixed: float) -> None:
        """Set the texts of the batch; those that stay keep their accounts. `fixed` as in `for_all`."""
        kept = self.kept
        self._fixed, self._own = fixed, {text: self._own.get(text, 0.0) for text in texts}
        self._reserve = kept - self._balance

    @property
    def left(self) -> float:
        """Plain rounds that may be lost now."""
        return min(self._reserve, START) + self._balance

    @property
    def kept(self) -> float:
        """Reserve of the next texts."""
        return _kept(self._reserve + self._balance)

    def spend(self, tokens: Mapping[int, int], rounds: float) -> None:
        """Charge a round with a draft or a shadow draft, which gained each text's `tokens` in the time of
        `rounds` plain ones."""
        self.rest(tokens)
        for text in self._own:
            self._own[text] += tokens.get(text, 0) - rounds

    def rest(self, tokens: Mapping[int, int]) -> None:
        """Count a plain round."""
        for text, gained in tokens.items():
            self._own[text] = self._own.get(text, 0.0) + gained * SHARE

    @property
    def _balance(self) -> float:
        return -float(for_all(-np.array([*self._own.values()] or [0.0]), self._fixed))


def _kept(rounds: float) -> float:
    """A debt has a limit: a larger one is not from drafts, but from a program or machine that was stopped."""
    return max(-START, min(rounds, RESERVE))
