"""Training a drafter on texts: a head on its target's hidden states, or a draft model.

Texts are collected, the target is run on them, the drafter learns. It resumes after any stop.
"""

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import mlx.core as mx

from mlx_spec.target.model import Model
from mlx_spec.training import own_text, study
from mlx_spec.training.fit import Batch, Fit, Progress, known_tokens, parted
from mlx_spec.training.study import Text
from models.documents.folder import listed, read_texts
from models.errors import BadChoice, BrokenFiles, MachineTrouble
from models.files import locked, replacing_folder
from models.load.translation import USUAL
from models.pairs.folder import check_safetensors, tensor_names
from models.size_text import size_text
from models.speed.fit import DISK_MARGIN
from models.speed.machine import free_disk
from models.time_text import time_text
from models.training.kinds import KNOWN, Kind
from models.training.work import Pace, Report, Step, TrainRequest, Work, accepted_text, seconds
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
SHORTEST = 16
"""Least tokens of a text to train on."""
IN_VAIN = 500
"""Shorter texts that the target writes one after the other before no longer one is expected of it."""
PASSAGE = 320
"""Most tokens of a user's text in one task for the target."""
PROBE = 256
"""Tokens of the text that `estimate` times the target on."""
_DELETE = "Delete it, and the same command goes on without it."
_TOO_SHORT = "No text is long enough to learn from. Name longer ones with --texts."


class Fitting(Work):
    """The training of one drafter.

    Raises:
        UnsupportedModel: no drafter of this kind can be made for the target.
        ModelsError: a place that the request names has no text.
    """

    def __init__(self, shop: Workshop, kind: Kind, request: TrainRequest):
        self._shop, self._kind, self._request = shop, kind, request
        found = [read_texts(place, listed(place)) for place in map(Path, request.texts)]
        self.notes = [note for _, notes in found for note in notes]
        self._given = [text for texts, _ in found for text in texts]
        self._wanted = request.tokens or TOKENS
        self._begun = time.monotonic()
        self._limit = math.inf if request.hours is None else request.hours * 3600
        self._fit: Fit | None = None
        self._acceptance: Sequence[float] = ()

    def run(self, report: Report) -> None:
        folder = self._shop.unfinished
        try:
            with locked(folder, wait=False):
                self._run(report)
        except BlockingIOError as error:
            raise MachineTrouble(
                f"Another program is training this drafter, in {folder}. Wait for its end, or stop it."
            ) from error

    def stopped(self) -> str:
        return f"The same command goes on from here; the work so far is in {self._shop.unfinished}."

    def finish(self, about: Mapping[str, Any]) -> tuple[bool, str]:
        fit, folder = self._fit, self._shop.folder
        assert fit is not None, "it was run"
        facts = {
            "target": self._shop.name,
            "tokens": self._tokens_read,
            "acceptance": [round(each, 3) for each in self._acceptance],
            "hours": round(fit.progress.seconds / 3600, 2),
            **about,
        }
        with replacing_folder(folder) as to:
            self._kind.save(to, fit.learner.module, {"mlx_spec": facts}, self._request.bits)
        right = accepted_text(self._acceptance, self._kind.unit)
        unseen = (
            "Its acceptance was not measured: that takes a text held out that the target wrote at "
            "temperature 0, and there is none. `mlx-spec bench` measures its gain. More --tokens may help."
        )
        return True, f"{folder} is ready: {self._kind.use} {self._shop.spec.name}.\n{right or unseen}"

    def estimate(self) -> str:
        """What is left, from the time of each step on one small text. Refuses what `run` would refuse."""
        self._check_files()
        target, kind, done = self._shop.target, self._kind, self._tokens_read
        if not (tokens := self._to_read(done)):
            raise BadChoice(_TOO_SHORT)
        usual = self._shop.tokenizer.encode(USUAL, add_special_tokens=False)
        tapped, text = Model(target, taps=kind.taps), Text((usual * PROBE)[:PROBE], 0, True)
        studied = kind.study(tapped, text)
        count, missing = len(studied.tokens), max(0, tokens - done)
        reading = missing * seconds(lambda: mx.eval(kind.study(tapped, text).logprobs)) / count
        learner = kind.learner(kind.tokens or range(min(KNOWN, kind.vocab)))
        fit = Fit(learner, [], 1, self._state)
        batch = Batch([studied], fit.table)
        left = max(0, self._to_learn + missing * EPOCHS - fit.progress.tokens)
        learning = left * seconds(lambda: fit.learn(batch)) / count
        disk = int(missing * studied.bytes_per_token)
        if missing:
            self._check_disk(disk)
        given = max(done * PROBE / count, sum(map(len, self._given)) / len(USUAL) * len(usual))
        to_write = max(0.0, tokens * PROBE / count - given) if missing and self._writes else 0.0
        writing = to_write * self._shop.writing(own_text.ROWS)
        limited = f"ends it after {time_text(self._limit)}" if self._limit < math.inf else "sets a time limit"
        return (
            f"About {time_text(writing + reading + learning)} on this machine as it is now, for "
            f"{tokens:,} {kind.unit} of text:\n"
            f"  the target writes {'the rest' if given else 'them    '} {time_text(writing)}\n"
            f"  training data is computed  {time_text(reading)}, {size_text(disk)} on disk\n"
            f"  the drafter learns         {time_text(learning)}\n"
            f"The drafter goes to {self._shop.folder}. --hours {limited}."
        )

    @property
    def _files(self) -> list[Path]:
        """Finished ones: only they have this name."""
        return sorted(self._shop.unfinished.glob("texts-?????.safetensors"))

    @property
    def _state(self) -> Path:
        return self._shop.unfinished / f"{self._kind.fit}.safetensors"

    @property
    def _tokens_read(self) -> int:
        return sum(len(text.tokens) for file in self._files for text in study.read(file))

    @property
    def _to_learn(self) -> int:
        """Positions, repeated ones included."""
        return EPOCHS * sum(len(text.tokens) for file in self._files for text in parted(file)[0])

    def _run(self, report: Report) -> None:
        self._check_files()
        self._read(report)
        if not self._tokens_read:
            raise BadChoice(_TOO_SHORT)
        learner = self._kind.learner(self._vocabulary())
        fit = Fit(learner, self._files, self._to_learn, self._state)
        pace, looked, wanted = Pace(fit.progress.tokens), fit.progress.files, fit.tokens

        def fitted(progress: Progress) -> None:
            nonlocal looked
            done, look = progress.tokens, []
            # Shorten the schedule to the time left, so that the learning rate still decays to its end.
            fit.tokens = pace.reached(done, wanted, self._seconds_left())
            if progress.files >= looked + SHOWN:
                looked, look = progress.files, fit.acceptance(self._held_out())
            left, unit = pace.left(done, fit.tokens), self._kind.unit
            report(Step("Learning", done, fit.tokens, unit, left, accepted_text(look, unit)))

        fit.run(fitted)
        self._fit, self._acceptance = fit, fit.acceptance(self._held_out())

    def _check_files(self) -> None:
        for file in (*self._files, self._state):
            try:
                if file.exists():
                    check_safetensors(file)
            except BrokenFiles as error:
                raise BrokenFiles(f"{error} {_DELETE}") from error
        if self._kind.tokens is None and self._state.exists() and "tokens" not in tensor_names(self._state):
            of = f"{self._state.name} in {self._state.parent} is of another version of this program."
            raise BrokenFiles(f"{of} {_DELETE}")

    def _read(self, report: Report) -> None:
        """Run the target on texts and store the results, until there are enough."""
        done = self._tokens_read
        wanted = self._to_read(done)
        pace = Pace(done)
        tapped, texts = Model(self._shop.target, taps=self._kind.taps), self._texts()
        while done < wanted and self._seconds_left(WRITING) > 0:
            studies: list[study.Study] = []
            for text in islice(texts, TEXTS):
                found = self._studied(tapped, text)
                self._check_disk((wanted - done) * found.bytes_per_token)
                studies.append(found)
                done += len(found.tokens)
                left = min(pace.left(done, wanted), max(0.0, self._seconds_left(WRITING)))
                report(Step("Texts", done, wanted, self._kind.unit, left))
                if done >= wanted or self._seconds_left(WRITING) <= 0:
                    break
            if not studies:
                return
            number = max((int(file.stem.removeprefix("texts-")) + 1 for file in self._files), default=0)
            study.write(self._shop.unfinished / f"texts-{number:05d}.safetensors", studies)

    def _check_disk(self, missing: float) -> None:
        """MachineTrouble if the disk has no room for this many bytes more; a time limit may end it before."""
        free, wanted = free_disk(self._shop.unfinished), int(missing) + DISK_MARGIN
        if wanted > free and self._limit == math.inf:
            raise MachineTrouble(
                f"The training data takes {size_text(int(missing))} more, and {size_text(free)} are free at "
                f"{self._shop.unfinished}. Free {size_text(wanted - free)}, or give fewer --tokens."
            )

    def _studied(self, tapped: Model, text: Text) -> study.Study:
        found = self._kind.study(tapped, text)
        tapped.forget()
        mx.eval([getattr(found, name) for name in study.NAMES])
        mx.clear_cache()
        return found

    def _held_out(self) -> list[study.Study]:
        return [text for file in self._files for text in parted(file)[1]]

    def _vocabulary(self) -> list[int]:
        """The drafter's tokens, chosen once: they are stored with its weights."""
        if self._kind.tokens is not None:
            return list(self._kind.tokens)
        if self._state.exists():
            return known_tokens(self._state)
        counts = Counter[int]()
        for file in self._files:
            for text in study.read(file):
                counts.update(text.likeliest[:, 0].tolist())  # type: ignore[arg-type]
                counts.update(text.tokens.tolist())  # type: ignore[arg-type]
        # Subword tokenizers number frequent tokens first: the lowest ids fill the rest.
        ranked = [token for token, _ in counts.most_common()] + list(range(self._kind.vocab))
        return sorted(list(dict.fromkeys(ranked))[:KNOWN])

    def _seconds_left(self, share: float = 1.0) -> float:
        """Seconds left of this share of the time limit."""
        return share * self._limit + self._begun - time.monotonic()

    @property
    def _writes(self) -> bool:
        """Whether the target writes texts; BadChoice if it cannot, and none is given."""
        try:
            self._shop.own_texts(seed=0)
        except BadChoice:
            if not self._given:
                raise
            return False
        return True

    def _to_read(self, done: int) -> int:
        """Tokens of text in all: fewer than wanted if the target writes none, and fewer are given."""
        if done >= self._wanted or self._writes:
            return self._wanted
        read = self._read_before
        for part in self._parts(self._tokenized()):
            if (tokens := self._kind.read_as(part)) not in read:
                done += len(tokens)
            if done >= self._wanted:
                return self._wanted
        return done

    @property
    def _read_before(self) -> set[tuple[int, ...]]:
        files = self._files
        return {tuple(text.tokens.tolist()) for file in files for text in study.read(file)}  # type: ignore[arg-type]

    def _tokenized(self) -> Iterator[Text]:
        """The user's texts, each when its turn comes: there may be far more than are wanted."""
        encode = self._shop.tokenizer.encode
        return (Text(list(encode(each, add_special_tokens=False))) for each in self._given)

    def _texts(self) -> Iterator[Text]:
        """The training texts: the user's, then chats that the target writes, if it can."""
        read, passages = self._read_before, list[Sequence[int]]()
        for text in self._tokenized():
            passages += [text.tokens[i : i + PASSAGE] for i in range(0, len(text.tokens), PASSAGE)]
            yield from (part for part in self._parts([text]) if self._kind.read_as(part) not in read)
        if self._writes:
            # A new seed each time, so that a resumed job gets no text twice.
            own = self._shop.own_texts(seed=time.time_ns(), passages=passages)
            parts = (list(self._parts([text])) for text in own)
            while found := next(filter(None, islice(parts, IN_VAIN)), []):
                yield from found

    def _parts(self, texts: Iterable[Text]) -> Iterator[Text]:
        longest = self._kind.longest
        for text in texts:
            for first in range(0, len(text.tokens) + 1 - SHORTEST, longest):
                tokens = text.tokens[first : first + longest]
                yield Text(tokens, max(0, text.begin - first), text.greedy)
