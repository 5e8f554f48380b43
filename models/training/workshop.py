"""From what a person wants trained to a drafter's folder."""

import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import load_tokenizer

from mlx_spec.target.model import Model
from mlx_spec.training import own_text, study
from mlx_spec.training.fit import Batch, Fit
from mlx_spec.training.study import Text
from models.documents.folder import listed, read_texts
from models.load.checkpoint import on_cpu, opened
from models.load.tokenizers import LOCAL_ONLY
from models.pairs.installed import installed_folder
from models.pairs.own_drafters import target_name
from models.pairs.pair import PairSpec
from models.paths import own_drafters_folder
from models.training import kinds
from models.training.job import EPOCHS, LONGEST, Job
from models.training.template import chat_template

PROBE = 256
"""Tokens of a text that the target reads to see how fast it is."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job would take."""

    writing: float
    """Seconds for the target to write the texts."""
    reading: float
    fitting: float
    disk_bytes: int

    @property
    def seconds(self) -> float:
        return self.writing + self.reading + self.fitting


class Workshop:
    """A loaded target, and the kind of drafter that is made for it.

    Raises:
        ModelsError: the target is not here, is broken, or cannot be read.
        UnsupportedModel: no drafter of the kind can be made for it.
    """

    def __init__(self, spec: PairSpec, kind: str):
        path = installed_folder(spec.target, spec)
        with opened(path) as files:
            self.target, config = files.load(as_float32=on_cpu())
            ends = config.get("eos_token_id")
            self.tokenizer: TokenizerWrapper = load_tokenizer(files.folder, LOCAL_ONLY, eos_token_ids=ends)
        self.name = target_name(spec.target)
        self.kind_name, self.kind = kind, kinds.KINDS[kind](config)
        self.folder = own_drafters_folder() / self.name / kind
        """Where the drafter goes."""
        self.unfinished = self.folder.with_name(f".{kind}")
        """Where it is made."""

    def texts(self, places: Iterable[str]) -> Iterator[Text]:
        """What is to be learnt from: texts of these folders and files, then what the target writes itself.

        Raises:
            ModelsError: no text in a place, or the target cannot write chats once it has to.
        """
        count = sum(1 for file in self.job((), 0).files for _ in study.read(file))
        yield from islice(self._documents(places), count, None)
        # Other texts each time, so that a job that goes on gets no text twice.
        yield from own_text.own_texts(self.target, chat_template(self.tokenizer), seed=time.time_ns())

    def _documents(self, places: Iterable[str]) -> Iterator[Text]:
        for place in map(Path, places):
            for text in read_texts(place, listed(place))[0]:
                ids = list(self.tokenizer.encode(text, add_special_tokens=False))
                for first in range(0, len(ids), LONGEST):
                    yield Text(ids[first : first + LONGEST])

    def job(self, texts: Iterable[Text], tokens: int, hours: float | None = None) -> Job:
        return Job(self.target, self.kind, texts, self.unfinished, tokens, hours)

    def finish(self, module: nn.Module, about: dict[str, Any], bits: int | None) -> None:
        """Write the drafter to its place, whole or not at all; one that was there is replaced."""
        draft = self.folder.with_name(f".{self.kind_name}.new")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        self.kind.save(draft, module, {"mlx_spec": {"target": self.name, **about}}, bits)
        old = self.folder.with_name(f".{self.kind_name}.old")
        if self.folder.exists():
            self.folder.rename(old)
        draft.rename(self.folder)
        shutil.rmtree(old, ignore_errors=True)

    def estimate(self, tokens: int, *, writes: bool) -> Estimate:
        """Timed on a little of each; nothing is kept."""
        tapped = Model(self.target, taps=self.kind.taps(self.target))
        text = Text(list(range(1, 1 + PROBE)), 0, True)
        studied = study.study(tapped, text)
        reading = _seconds(lambda: mx.eval(study.study(tapped, text).logprobs)) / PROBE
        learner = self.kind.learner(self.target, list(range(min(8192, self.kind.vocab(self.target)))))
        fit = Fit(learner, [], 1, self.unfinished / "none.safetensors")
        fitting = _seconds(lambda: fit.learn(Batch([studied], fit.table))) / PROBE
        size = sum(getattr(studied, name).nbytes for name in study.NAMES) / PROBE
        writing = self._writing() if writes else 0.0
        return Estimate(writing * tokens, reading * tokens, fitting * tokens * EPOCHS, int(size * tokens))

    def _writing(self) -> float:
        """Seconds per token that the target writes, many at once."""
        cache, ids = make_prompt_cache(self.target), mx.ones((own_text.ROWS, 1), mx.int32)
        mx.eval(self.target(mx.ones((own_text.ROWS, 128), mx.int32), cache=cache))
        return _seconds(lambda: mx.eval(self.target(ids, cache=cache))) / own_text.ROWS


def _seconds(work: Callable[[], object]) -> float:
    """Of the second time."""
    work()
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
