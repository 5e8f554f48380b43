"""Training one drafter: collecting texts, running the target on them, fitting. It resumes after any stop."""

import json
import math
import time
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.target.model import Model
from mlx_spec.training import study
from mlx_spec.training.fit import Fit, Progress, parted
from mlx_spec.training.study import Text
from models.errors import BadChoice, BrokenFiles, MachineTrouble
from models.files import atomic_write
from models.pairs.folder import check_safetensors
from models.size_text import size_text
from models.speed.fit import DISK_MARGIN
from models.speed.machine import free_disk
from models.training.kinds import KNOWN, Kind
from models.training.work import Pace, Report, Step, TrainRequest, accepted_text
from models.training.workshop import Workshop

TOKENS = 1_000_000
"""Tokens of text by default."""
TEXTS = 20
"""Most texts of a file: a stop loses at most this many, and those being written. One of each file of several
is held out."""
EPOCHS = 4
WRITING = 0.6
"""Share of a time limit for collecting texts."""
SHOWN = 10
"""Groups of files between two measurements of the acceptance."""


class Job:
    """The training of one drafter. It reads texts until they have as many tokens as requested."""

    def __init__(self, shop: Workshop, kind: Kind, request: TrainRequest, texts: Iterable[Text]):
        self._target, self._folder, self._kind, self._texts = shop.target, shop.unfinished, kind, texts
        self.tokens = request.tokens or TOKENS
        self._begun = time.monotonic()
        self._limit = math.inf if request.hours is None else request.hours * 3600
        self.hours = 0.0
        """Time spent fitting, in all runs."""

    @property
    def files(self) -> list[Path]:
        return sorted(self._folder.glob("texts-?????.safetensors"))  # only finished files have this name

    @property
    def _state(self) -> Path:
        return self._folder / f"{self._kind.fit}.safetensors"

    @property
    def tokens_read(self) -> int:
        return sum(len(text.tokens) for file in self.files for text in study.read(file))

    def run(self, report: Report) -> tuple[nn.Module, list[float]]:
        """The trained module, and its acceptance by depth on held-out texts. BrokenFiles if a file that an
        earlier run wrote is damaged."""
        self._check_files()
        self._read(report)
        if not self.tokens_read:
            raise BadChoice("No text is long enough to learn from. Name longer ones with --texts.")
        tokens = EPOCHS * sum(len(text.tokens) for file in self.files for text in parted(file)[0])
        learner = self._kind.learner(self._vocabulary())
        fit = Fit(learner, self.files, tokens, self._state)
        pace, looked, wanted = Pace(fit.progress.tokens), fit.progress.files, fit.tokens

        def fitted(progress: Progress) -> None:
            nonlocal looked
            done, look = progress.tokens, []
            # Shorten the schedule to the time left, so that the learning rate still decays to its end.
            fit.tokens = pace.reached(done, wanted, self._seconds_left())
            if progress.files >= looked + SHOWN:
                looked, look = progress.files, fit.acceptance(self._held_out())
            left = pace.left(done, fit.tokens)
            unit = self._kind.unit
            report(Step("Learning", done, fit.tokens, unit, left, accepted_text(look, unit)))

        fit.run(fitted)
        self.hours = fit.progress.seconds / 3600
        return fit.learner.module, fit.acceptance(self._held_out())

    def _check_files(self) -> None:
        for file in (*self.files, self._state):
            try:
                if file.exists():
                    check_safetensors(file)
            except BrokenFiles as error:
                raise BrokenFiles(f"{error} Delete it, and the same command goes on without it.") from error

    def _read(self, report: Report) -> None:
        """Run the target on texts and store the results, until there are enough."""
        self._folder.mkdir(parents=True, exist_ok=True)
        done = self.tokens_read
        pace = Pace(done)
        tapped = Model(self._target, taps=self._kind.taps)
        texts = iter(self._texts)
        while done < self.tokens and self._seconds_left(WRITING) > 0:
            studies: list[study.Study] = []
            for text in islice(texts, TEXTS):
                found = self._studied(tapped, text)
                if self._limit == math.inf:
                    self._check_disk((self.tokens - done) * found.bytes_per_token)
                studies.append(found)
                done += len(found.tokens)
                left = min(pace.left(done, self.tokens), max(0.0, self._seconds_left(WRITING)))
                report(Step("Texts", done, self.tokens, self._kind.unit, left))
                if self._seconds_left(WRITING) <= 0:
                    break
            if not studies:
                return
            number = max((int(file.stem.removeprefix("texts-")) + 1 for file in self.files), default=0)
            study.write(self._folder / f"texts-{number:05d}.safetensors", studies)

    def _check_disk(self, missing: float) -> None:
        """MachineTrouble if the disk has no room for this many bytes more."""
        free, wanted = free_disk(self._folder), int(missing) + DISK_MARGIN
        if wanted > free:
            raise MachineTrouble(
                f"The training data takes {size_text(int(missing))} more, and {size_text(free)} are free at "
                f"{self._folder}. Free {size_text(wanted - free)}, or give fewer --tokens."
            )

    def _studied(self, tapped: Model, text: Text) -> study.Study:
        found = self._kind.study(tapped, text)
        tapped.forget()
        mx.eval([getattr(found, name) for name in study.NAMES])
        mx.clear_cache()
        return found

    def _held_out(self) -> list[study.Study]:
        return [text for file in self.files for text in parted(file)[1]]

    def _vocabulary(self) -> list[int]:
        """The drafter's tokens, chosen once and stored: the fitted weights depend on them."""
        if self._kind.tokens is not None:
            return list(self._kind.tokens)
        kept = self._folder / "vocabulary.json"
        if not kept.exists():
            counts = Counter[int]()
            for file in self.files:
                for text in study.read(file):
                    counts.update(text.likeliest[:, 0].tolist())  # type: ignore[arg-type]
                    counts.update(text.tokens.tolist())  # type: ignore[arg-type]
            # Subword tokenizers number frequent tokens first: the lowest ids fill the rest.
            ranked = [token for token, _ in counts.most_common()] + list(range(self._kind.vocab))
            atomic_write(kept, json.dumps(sorted(list(dict.fromkeys(ranked))[:KNOWN])))
        return json.loads(kept.read_text())

    def _seconds_left(self, share: float = 1.0) -> float:
        """Seconds left of this share of the time limit."""
        return share * self._limit + self._begun - time.monotonic()
