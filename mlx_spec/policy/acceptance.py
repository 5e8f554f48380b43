"""How likely drafted tokens are to be accepted: weights over a few levels, moved by what an answer shows.

Answers differ: one accepts nearly every draft, the next hardly any. So instead of one rate there is a
probability of each of a few (Bayes' rule), with a share of the usual mixed in again, for an answer may
change in the middle (fixed share, Herbster and Warmuth 1998, section 5). Given a level, every position is
accepted with that probability if all before it are.
"""

from collections.abc import Collection, Iterable
from itertools import groupby
from typing import Any

import numpy as np

from mlx_spec.types import MAX_DRAFT_LENGTH

LEVELS = np.array([0.02, 0.15, 0.35, 0.55, 0.72, 0.85, 0.93, 0.97, 0.99])
"""Acceptance rates: closer together where drafts are longest."""
ALIVE = LEVELS[:, None] ** np.arange(MAX_DRAFT_LENGTH + 1)
"""[levels, lengths], how likely the first 0, 1, ... k tokens are all accepted."""
EXPECTED = np.cumsum(ALIVE, axis=1)
"""[levels, lengths], tokens of rounds that draft 0, 1, ... k, the target's own one included."""
SWITCH = 0.01
"""Share of the usual mixed in again after a round that drafted, or a run of shadows all right or wrong."""
IDLE = 0.002
"""The same after a token without a draft: in time drafting is tried again."""
LEARN = 0.15
"""What an answer adds to the usual."""
RECENT = 0.3
"""How much a new answer is expected to be like the last one rather than the usual one."""
LEAST = 0.01
"""Share of the usual that is spread over all levels: nothing is ever ruled out."""
DOUBT = 0.8
"""Tokens that a drafter's prior is worth: below 1 it means "nearly all or hardly any"."""


class Acceptance:
    """What is known of one kind of drafts, in each of the texts that are written together.

    Args:
        prior: expected acceptance rate of a first token, before anything was seen.
    """

    def __init__(self, prior: float = 0.5):
        self.usual = _prior(prior)
        self._last = self.usual
        """What the text that ended last was like."""
        self._texts: dict[int, np.ndarray] = {}
        self._seen: set[int] = set()
        self._shadows: dict[int, list[bool]] = {}
        """Of each text, which tokens would have been drafted: taken together when they are asked for."""

    @property
    def now(self) -> np.ndarray:
        """The mean of the texts: what follows from it is the mean of what follows for each."""
        self._take_shadows()
        weights = list(self._texts.values())
        return self._last if not weights else weights[0] if len(weights) == 1 else np.mean(weights, axis=0)

    def begin(self, texts: Collection[int]) -> None:
        """These are written from here on: what those that ended were like joins the usual."""
        self._take_shadows()
        for ended in self._texts.keys() - texts:
            self._last = self._texts.pop(ended)
            if ended in self._seen:
                learned = _mix(self.usual, self._last, LEARN)
                self.usual = _mix(learned, np.full(len(LEVELS), 1 / len(LEVELS)), LEAST)
        self._seen &= set(texts)
        for text in texts:
            if text not in self._texts:
                self._texts[text] = _mix(self.usual, self._last, RECENT)

    def count(self, text: int, drafted: int, accepted: int) -> None:
        """Take a round of a text; positions after the first rejection tell nothing."""
        self._take_shadows()
        self._learn(text, ALIVE[:, accepted] * (1 - LEVELS if accepted < drafted else 1))

    def shadow(self, text: int, right: Iterable[bool]) -> None:
        """Take tokens of plain rounds: whether each would have been drafted."""
        self._shadows.setdefault(text, []).extend(right)

    def idle(self, tokens: int) -> None:
        """`tokens` were written in each text of which nothing is known."""
        self._take_shadows()
        for text, weights in self._texts.items():
            self._texts[text] = _mix(weights, self.usual, 1 - (1 - IDLE) ** tokens)

    def _take_shadows(self) -> None:
        for text, tokens in self._shadows.items():
            for right, run in groupby(tokens):
                self._learn(text, (LEVELS if right else 1 - LEVELS) ** len(list(run)))
        self._shadows.clear()

    def _learn(self, text: int, likelihood: np.ndarray) -> None:
        if text in self._texts:  # else it has ended
            weighed = self._texts[text] * likelihood
            self._texts[text] = _mix(weighed / weighed.sum(), self.usual, SWITCH)
            self._seen.add(text)

    def as_json(self) -> dict[str, list[float]]:
        """Plain values; `from_json` reads them."""
        return {"usual": self.usual.tolist(), "now": self.now.tolist()}

    @classmethod
    def from_json(cls, values: Any) -> "Acceptance":
        """Raises LookupError, TypeError or ValueError where the values make no sense."""
        known = cls()
        known.usual, known._last = _weights(values["usual"]), _weights(values["now"])
        return known


def _weights(values: Any) -> np.ndarray:
    weights = np.array([float(value) for value in values])
    if weights.shape != LEVELS.shape or not (weights > 0).all() or abs(weights.sum() - 1) > 1e-6:
        raise ValueError(f"not {len(LEVELS)} weights that add up to 1")
    return weights


def _mix(a: np.ndarray, b: np.ndarray, share: float) -> np.ndarray:
    return (1 - share) * a + share * b


def _prior(rate: float) -> np.ndarray:
    """A beta distribution of this mean over the levels."""
    between = (LEVELS[1:] + LEVELS[:-1]) / 2
    widths = np.diff(np.concatenate([[0.0], between, [1.0]]))
    weights = widths * LEVELS ** (rate * DOUBT - 1) * (1 - LEVELS) ** ((1 - rate) * DOUBT - 1)
    return weights / weights.sum()
