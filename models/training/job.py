"""One drafter in the making: texts, what the target makes of them, the fit; resumable after any stop."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_spec.target.model import Model
from mlx_spec.training import study
from mlx_spec.training.fit import Fit
from mlx_spec.training.study import Text
from models.training.kinds import Maker

TEXTS = 20
"""Texts of a file: what a stop loses at most, with those that are being written."""
LONGEST = 640
"""Tokens of a text that are learnt from."""
SHORTEST = 16
HELD_OUT = 20
"""Of so many files one is kept out of what is learnt from."""
EPOCHS = 4
VOCABULARY = 8192
"""Tokens that a head guesses among: the most frequent of the texts."""
WRITING = 0.6
"""Share of the time for the texts, where hours are given."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far a job is."""

    phase: str
    """`writing` or `fitting`."""
    done: int
    total: int
    """Tokens."""
    seconds_left: float | None
    acceptance: tuple[float, ...] = ()
    """On texts that were kept out, by depth, at temperature 0."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked for."""

    tokens: int
    hours: float | None = None
    vocabulary: int = VOCABULARY


class Job:
    """Args:
    texts: given ones; None: the target writes its own.
    folder: where all of it is kept until it is done.
    """

    def __init__(
        self,
        target: nn.Module,
        tokenizer: TokenizerWrapper,
        maker: Maker,
        folder: Path,
        wish: Wish,
        texts: Sequence[Text] | None = None,
    ):
        self._target, self._tokenizer, self._maker = target, tokenizer, maker
        self._folder, self._wish, self._given = folder, wish, texts
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def files(self) -> list[Path]:
        return sorted(self._folder.glob("texts-*.safetensors"))

    def run(self, report: Callable[[Step], bool]) -> Fit | None:
        """Make the drafter; None where `report` said no more. Called again it goes on."""
        begun = time.monotonic()
        if not self._write(report, begun):
            return None
        fit = self.fit()
        held, first, at = self._split()[0], fit.progress.tokens, time.monotonic()

        def fitted(progress) -> bool:
            left = self._left(progress.tokens, fit.tokens, first, at)
            accepted = tuple(fit.acceptance(held)) if progress.files % 10 == 0 else ()
            return report(Step("fitting", progress.tokens, fit.tokens, left, accepted)) and not self._late(
                begun
            )

        fit.run(fitted)
        return fit if fit.progress.tokens >= fit.tokens or self._late(begun) else None

    def fit(self) -> Fit:
        """The drafter as far as it is."""
        held, files = self._split()
        tokens = EPOCHS * sum(self._count(file) for file in files)
        learner = self._maker.learner(self._target, self._vocabulary())
        return Fit(learner, files, tokens, self._folder / "fit.safetensors")

    def _write(self, report: Callable[[Step], bool], begun: float) -> bool:
        have, first, at = sum(map(self._count, self.files)), None, time.monotonic()
        first = have
        tapped = Model(self._target, taps=self._maker.taps(self._target))
        texts = self._texts(len(self.files))
        while have < self._wish.tokens and not self._late(begun, WRITING):
            several = list(islice(texts, TEXTS))
            if not several:
                break
            studies = []
            for text in several:
                studies.append(study.study(tapped, text))
                tapped.forget()
            study.write(self._folder / f"texts-{len(self.files):05d}.safetensors", studies)
            have += sum(len(text.tokens) for text in several)
            mx.clear_cache()
            if not report(
                Step("writing", have, self._wish.tokens, self._left(have, self._wish.tokens, first, at))
            ):
                return False
        return True
