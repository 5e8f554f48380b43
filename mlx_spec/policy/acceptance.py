"""Acceptance rates: a probability for each of a few levels, updated by Bayes' rule within an answer.

Answers differ: one accepts nearly every draft, the next hardly any. After each update a share of the prior is
mixed back in, as an answer may change midway (fixed share, Herbster and Warmuth 1998, section 5). At a level,
each drafted token is accepted with that probability, given that all before it were.
"""

from collections.abc import Collection, Iterable
from itertools import groupby

import numpy as np

from mlx_spec.policy.learned import LearnedAcceptance
from mlx_spec.types import MAX_DRAFT_LENGTH

LEVELS = np.array([0.02, 0.15, 0.35, 0.55, 0.72, 0.85, 0.93, 0.97, 0.99])
"""Acceptance rates, closer together near 1, where drafts are longest."""
NOTHING = np.eye(len(LEVELS))[0]
"""Weights of a text that accepts hardly any token."""
ALIVE = LEVELS[:, None] ** np.arange(MAX_DRAFT_LENGTH + 1)
"""[levels, lengths], probability that the first 0, 1, ... k drafted tokens are all accepted."""
EXPECTED = np.cumsum(ALIVE, axis=1)
"""[levels, lengths], expected tokens of a round that drafts 0, 1, ... k, bonus included."""
SWITCH = 0.01
"""Share of `usual` mixed back in after a drafted round, or a run of shadow results that are all the same."""
IDLE = 0.002
"""The same per token without a draft, so that drafting is tried again in time."""
LEARN = 0.15
"""Weight of an ended answer in `usual`, once that is an average of several; the prior counts as one."""
RECENT = 0.3
"""Weight of the last answer in a new answer's prior; the rest is `usual`."""
LEAST = 0.01
"""Share of `usual` spread evenly over all levels, so that none is ever ruled out."""


class Acceptance:
    """Weights over `LEVELS` of one candidate kind, for each text of the batch.

    Args:
        prior: assumed acceptance rate of a draft's first token.
        weight: of `prior`, in tokens.
    """

    def __init__(self, prior: float = 0.5, weight: float = 1.5):
        self.usual = _prior(prior, weight)
        self._last = self.usual
        """Weights of the text that ended last."""
        self._share = 1 / 2
        """Weight of the next ended answer in `usual`."""
        self._texts: dict[int, np.ndarray] = {}
        self._seen: set[int] = set()
        self._shadows: dict[int, list[bool]] = {}
        """By text: shadow results not yet learned from, so that equal ones are learned in one step."""

    @property
    def now(self) -> np.ndarray:
        """Mean weights of the texts: expectations are linear in them."""
        by_text = self.by_text()
        return by_text.sum(axis=0) / len(by_text)

    def by_text(self, drafted: Collection[int] | None = None) -> np.ndarray:
        """[texts, levels], weights of each text; without any, those of the text that ended last.

        Args:
            drafted: texts that have a draft; None: all. The others accept nothing.
        """
        self._learn_shadows()
        if drafted is None:
            return np.array(list(self._texts.values()) or [self._last])
        return np.array([each if text in drafted else NOTHING for text, each in self._texts.items()])

    def begin(self, texts: Collection[int]) -> None:
        """Set the texts of the batch; those that ended are mixed into `usual`."""
        self._learn_shadows()
        for ended in self._texts.keys() - texts:
            self._last = self._texts.pop(ended)
            if ended in self._seen:
                learned = _mix(self.usual, self._last, self._share)
                self._share = max(LEARN, self._share / (1 + self._share))
                self.usual = _mix(learned, np.full(len(LEVELS), 1 / len(LEVELS)), LEAST)
        self._seen &= set(texts)
        for text in texts:
            if text not in self._texts:
                self._texts[text] = _mix(self.usual, self._last, RECENT)

    def count(self, text: int, drafted: int, accepted: int) -> None:
        """Learn from a round of a text; tokens after the first rejection tell nothing."""
        self._learn_shadows()
        self._learn(text, ALIVE[:, accepted] * (1 - LEVELS if accepted < drafted else 1))

    def shadow(self, text: int, right: Iterable[bool]) -> None:
        """Note, for each token of plain rounds, whether it would have been drafted."""
        self._shadows.setdefault(text, []).extend(right)

    def idle(self, tokens: int) -> None:
        """`tokens` were written in each text without a draft or shadow results."""
        self._learn_shadows()
        for text, weights in self._texts.items():
            self._texts[text] = _mix(weights, self.usual, 1 - (1 - IDLE) ** tokens)

    def _learn_shadows(self) -> None:
        for text, tokens in self._shadows.items():
            for right, run in groupby(tokens):
                self._learn(text, (LEVELS if right else 1 - LEVELS) ** len(list(run)))
        self._shadows.clear()

    def _learn(self, text: int, likelihood: np.ndarray) -> None:
        if text in self._texts:  # else it has ended
            weighed = self._texts[text] * likelihood
            self._texts[text] = _mix(weighed / weighed.sum(), self.usual, SWITCH)
            self._seen.add(text)

    @property
    def learned(self) -> LearnedAcceptance:
        """As plain values."""
        return LearnedAcceptance(self.usual.tolist(), self.now.tolist())

    @classmethod
    def restored(cls, learned: LearnedAcceptance) -> "Acceptance":
        """From plain values; ValueError if they are of other levels."""
        if not len(learned.usual) == len(learned.now) == len(LEVELS):
            raise ValueError(f"there are {len(LEVELS)} levels")
        acceptance = cls()
        acceptance.usual, acceptance._last = np.array(learned.usual), np.array(learned.now)
        acceptance._share = LEARN
        return acceptance


def _mix(a: np.ndarray, b: np.ndarray, share: float) -> np.ndarray:
    return (1 - share) * a + share * b


def _prior(rate: float, weight: float) -> np.ndarray:
    """A beta distribution of this mean over the levels."""
    between = (LEVELS[1:] + LEVELS[:-1]) / 2
    widths = np.diff(np.concatenate([[0.0], between, [1.0]]))
    weights = widths * LEVELS ** (rate * weight - 1) * (1 - LEVELS) ** ((1 - rate) * weight - 1)
    return weights / weights.sum()
