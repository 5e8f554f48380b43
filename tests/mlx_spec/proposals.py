"""Drafts: what a drafter proposes after a text, and rounds with the logits that it made them of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec import Engine, Options, Round
from mlx_spec.arrays import Length
from mlx_spec.drafters import Context, Drafter
from mlx_spec.verify import copies
from mlx_spec.verify.batch import BatchVerifier
from mlx_spec.verify.verifiers import Verifier
from tests.mlx_spec.tiny_models import VOCAB


def draft_after(drafter: Drafter, text: list[int], depth: int) -> list[int]:
    """What it drafts after `text`; nothing without a candidate."""
    context = Context([text], mx.array([text]), Length.exact(len(text)))
    if not drafter.candidates(context.length):
        return []
    verifier = BatchVerifier([Verifier(Options(), VOCAB)], context.tokens, context.length, depth)
    drafted: list[list[int]] = drafter.draft(context, depth, verifier).tokens.tolist()  # type: ignore[assignment]
    return drafted[0]


@dataclass
class Proposed:
    """One round of a single text that drafted a chain."""

    before: list[int]
    """The text so far."""
    read: Round
    logits: np.ndarray = field(repr=False)
    """`[depth, vocab]`."""

    def is_near(
        self, logits: np.ndarray, drafted: list[int], close: float = 1e-4, known: Sequence[int] | None = None
    ) -> bool:
        """Whether these tokens were drafted, of these logits (of the tokens `known`), -inf where they are."""
        own, there = self.logits if known is None else self.logits[:, known], np.isfinite(logits)
        if (np.isfinite(own) != there).any() or list(self.read.drafted) != drafted:
            return False
        return np.abs(own[there] - logits[there]).max() < close * np.abs(logits[there]).max()


def proposed(engine: Engine, ids: list[int], drafter: str, **options) -> list[Proposed]:
    """The rounds of a text that drafted, up to the last, which may have been cut; without copies from it."""
    found, written, drafts = [], list(ids), list[list[np.ndarray]]()
    propose, who = BatchVerifier.propose, next(d for d in engine.drafters if d.name == drafter)

    def noting(self, logits, index, drafted):
        drafts[-1].append(np.array(logits[0]))
        return propose(self, logits, index, drafted)

    def draft(context, depth, verifier):
        drafts.extend([[]] if depth else [])
        return type(who).draft(who, context, depth, verifier)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BatchVerifier, "propose", noting)
        patch.setattr(copies, "mixed", lambda logits, *_: logits)
        patch.setattr(who, "draft", draft)
        rounds = list(engine.generate(ids, Options(drafter=drafter, **options)))
    given = iter(drafts)  # of rounds in flight at the end nothing is read
    for read in rounds:
        if read.drafted and read.stop is None:
            found.append(Proposed(list(written), read, np.stack(next(given))))
        written += read.tokens
    return found


class Written:
    """A table that is not changed. On a GPU either of two values written to one place may remain."""

    def __init__(self, table: mx.array):
        self._table = table
        self._written: list[tuple[tuple[int, ...], Any]] = []

    def __getitem__(self, places: Any) -> mx.array:
        return self._table[places]

    def __setitem__(self, places: Any, rows: mx.array) -> None:
        columns = places if isinstance(places, tuple) else (places,)
        where = zip(*(column.tolist() for column in columns), strict=True)
        self._written = list(zip(where, rows.tolist(), strict=True))  # type: ignore[arg-type]

    def once(self) -> dict[tuple[int, ...], Any]:
        """What was written last, where no place got two values, and some got theirs twice."""
        found = dict(self._written)
        assert len(found) < len(self._written) and all(found[place] == row for place, row in self._written)
        return found
