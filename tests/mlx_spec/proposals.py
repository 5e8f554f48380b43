"""Rounds with the logits that their drafts were made of."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from mlx_spec import Engine, Options, Round
from mlx_spec.verify.batch import BatchVerifier


@dataclass
class Proposed:
    """One round of a single text that drafted a chain."""

    before: list[int]
    """The text so far."""
    read: Round
    logits: np.ndarray = field(repr=False)
    """`[depth, vocab]`."""


def proposed(engine: Engine, ids: list[int], drafter: str, **options) -> list[Proposed]:
    """The rounds of a text that drafted, up to the last, which may have been cut."""
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
        patch.setattr(who, "draft", draft)
        rounds = list(engine.generate(ids, Options(drafter=drafter, **options)))
    given = iter(drafts)  # of rounds in flight at the end nothing is read
    for read in rounds:
        if read.drafted and read.stop is None:
            found.append(Proposed(list(written), read, np.stack(next(given))))
        written += read.tokens
    return found
