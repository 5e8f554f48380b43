"""Training a drafter on texts: a head on its target's hidden states, or a draft model."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.target.model import Model
from mlx_spec.training import own_text
from mlx_spec.training import study as studies
from mlx_spec.training.fit import Batch, Fit
from mlx_spec.training.study import Text
from models.documents.folder import listed, read_texts
from models.errors import BadChoice, MachineTrouble
from models.files import locked, replacing_folder
from models.load.translation import USUAL
from models.size_text import size_text
from models.time_text import time_text
from models.training.job import EPOCHS, Job
from models.training.kinds import KNOWN, Kind
from models.training.work import Report, TrainRequest, Work, accepted_text, seconds
from models.training.workshop import Workshop

SHORTEST = 16
"""Least tokens of a text to train on."""
PASSAGE = 320
"""Most tokens of a user's text in one task for the target."""
PROBE = 256
"""Tokens of the text that `estimate` times the target on."""


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
        given = [text for texts, _ in found for text in texts]
        self._job = Job(shop, kind, request, self._texts(given))
        self._module: nn.Module | None = None
        self._acceptance: Sequence[float] = ()

    def run(self, report: Report) -> None:
        folder = self._shop.unfinished
        try:
            with locked(folder, wait=False):
                self._module, self._acceptance = self._job.run(report)
        except BlockingIOError as error:
            raise MachineTrouble(
                f"Another program is training this drafter, in {folder}. Wait for its end, or stop it."
            ) from error

    def stopped(self) -> str:
        return f"The same command goes on from here; the work so far is in {self._shop.unfinished}."

    def finish(self, about: Mapping[str, Any]) -> tuple[bool, str]:
        module, folder = self._module, self._shop.folder
        assert module is not None, "it was run"
        facts = {
            "target": self._shop.name,
            "tokens": self._job.tokens_read,
            "acceptance": [round(each, 3) for each in self._acceptance],
            "hours": round(self._job.hours, 2),
            **about,
        }
        with replacing_folder(folder) as to:
            self._kind.save(to, module, {"mlx_spec": facts}, self._request.bits)
        right = accepted_text(self._acceptance, self._kind.unit)
        unseen = "Its acceptance was not measured: no held-out text was written by the target."
        return True, f"{folder} is ready: {self._kind.use} {self._shop.spec.name}.\n{right or unseen}"

    def estimate(self) -> str:
        """Each step is timed on one small text. BadChoice as `run`."""
        if not self._request.texts:
            self._shop.own_texts(seed=0)
        target, kind, tokens = self._shop.target, self._kind, self._job.tokens
        usual = self._shop.tokenizer.encode(USUAL, add_special_tokens=False)
        tapped, text = Model(target, taps=kind.taps), Text((usual * PROBE)[:PROBE], 0, True)
        studied = kind.study(tapped, text)
        count = len(studied.tokens)
        reading = tokens * seconds(lambda: mx.eval(kind.study(tapped, text).logprobs)) / count
        learner = kind.learner(kind.tokens or range(min(KNOWN, kind.vocab)))
        fit = Fit(learner, [], 1, self._shop.unfinished / "none.safetensors")
        batch = Batch([studied], fit.table)
        learning = tokens * EPOCHS * seconds(lambda: fit.learn(batch)) / count
        disk = int(tokens * studied.bytes_per_token)
        writing = tokens * PROBE / count * self._shop.writing(own_text.ROWS)
        return "\n".join(
            (
                f"About {time_text(writing + reading + learning)} on this machine as it is now, for "
                f"{tokens:,} {kind.unit} of text:",
                f"  the target writes them     {time_text(writing)}",
                f"  training data is computed  {time_text(reading)}, {size_text(disk)} on disk",
                f"  the drafter learns         {time_text(learning)}",
                f"The drafter goes to {self._shop.folder}. --hours sets a time limit.",
            )
        )

    def _texts(self, given: Iterable[str]) -> Iterator[Text]:
        """The training texts: the user's, then chats that the target writes; BadChoice if it cannot, and none
        is given."""
        read = {tuple(text.tokens.tolist()) for file in self._job.files for text in studies.read(file)}  # type: ignore[arg-type]
        passages: list[Sequence[int]] = []
        for each in given:  # tokenized when its turn comes: there may be far more than are wanted
            text = Text(list(self._shop.tokenizer.encode(each, add_special_tokens=False)))
            passages += [text.tokens[i : i + PASSAGE] for i in range(0, len(text.tokens), PASSAGE)]
            yield from (part for part in self._parts([text]) if self._kind.read_as(part) not in read)
        try:
            # A new seed each time, so that a resumed job gets no text twice.
            chats = self._shop.own_texts(seed=time.time_ns(), passages=passages)
        except BadChoice:
            if passages:
                return
            raise
        yield from self._parts(chats)

    def _parts(self, texts: Iterable[Text]) -> Iterator[Text]:
        longest = self._kind.longest
        for text in texts:
            for first in range(0, len(text.tokens), longest):
                tokens = text.tokens[first : first + longest]
                if len(tokens) >= SHORTEST:
                    yield Text(tokens, max(0, text.begin - first), text.greedy)
