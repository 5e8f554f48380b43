"""Drafters whose only state is the target's hidden state of the last token that it has read."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.arrays import Output, Pass, Verdict, take_rows
from mlx_spec.drafters import Drafter, Texts


class LastStateDrafter(Drafter):
    """Reads the output of the one layer that it taps."""

    head: Any
    _state: mx.array | None = None
    """`[b, 1, dim]`; None before a round was observed."""

    @property
    def parts(self) -> Sequence[nn.Module]:
        return [self.head]

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        self._state = None

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        if verdict is None or p.draft is None:
            return  # the first round reads what the prompt leaves
        last = mx.take_along_axis(verdict.path, verdict.accepted[:, None], axis=1)[:, 0]
        hidden = output.hidden[self.taps[0]]
        unseen = hidden.shape[1] - 1 - p.draft.tokens.shape[1]
        self._state = take_rows(hidden, last + unseen, 1)
