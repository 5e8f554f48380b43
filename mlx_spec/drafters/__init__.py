"""What a drafter is: read this to write one (docs/add-a-drafter.md has an example).

A drafter proposes the next few tokens of the texts it is shown. It keeps itself in step (a rejected
draft, another answer, rounds that others drafted), returns only its draft, and no draft is always legal.
It knows nothing of how long is best or how drafts are verified.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Int

from mlx_spec.arrays import Draft, Length, Output, Pass, Verdict, take_rows
from mlx_spec.candidate import Candidate
from mlx_spec.target.model import Model
from mlx_spec.verify.batch import BatchVerifier

Texts = Sequence[Sequence[int]]
"""Token ids of each sequence; none where a place is free: what is drafted there is not used."""
Shadow = tuple[int, Candidate, list[bool]]
"""Of tokens that a drafter did not draft: in which text, as what it would have drafted them, and which it
had right."""


@dataclass(frozen=True, slots=True)
class Context:
    """The texts at the start of a round."""

    host_tokens: Texts
    """What the host has read; all of it where the candidate asked for `host_text`."""
    tokens: Int[mx.array, "b capacity"]
    """The texts on the device; meaningless from `length` on."""
    length: Length
    nodes: int = 0
    """Tokens of the tree that is asked for, where the candidate was one of trees; 0: a chain."""

    def last(self, count: int) -> Int[mx.array, "b {count}"]:
        """The last `count` tokens of each, lazily."""
        return take_rows(self.tokens, self.length.plus(-count).value, count, axis=1)


class Drafter(ABC):
    """One idea of how to guess."""

    name: str
    """As in `Options.drafter`."""
    models: Sequence[Model] = ()
    """Models of its own whose caches it keeps."""
    taps: Sequence[int] = ()
    """Layers of the target whose hidden states it wants to observe."""
    trees: bool = False
    """Whether it may propose trees; `meet` takes that back where the target cannot read them."""
    nodes: Sequence[int] = ()
    """Sizes of its trees, where it has some of several."""
    by_name: bool = False
    """Whether it drafts only where it is asked for by name, not in `auto`."""

    @property
    def steps(self) -> bool:
        """Whether each drafted token takes a step of a model."""
        return bool(self.models)

    @property
    def parts(self) -> Sequence[nn.Module]:
        """What it has weights in, some of them perhaps the target's."""
        return [each.model for each in self.models]

    def meet(self, target: Model) -> None:
        """This is the target, whose rows it may use."""
        self.trees = self.trees and target.trees

    def rearrange(self, order: Sequence[int]) -> None:
        """Each text goes on with a copy of what is kept of text `order[i]`, which shares most with it.

        For what is kept on the device; `begin` follows.
        """
        return None

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        """These are written from here on: prompts, and texts that go on when others join or leave.

        What takes a pass of a model is left to `draft`: nothing here may delay the first token.

        Args:
            documents: for each text, others that it may copy from.
        """
        return None

    @abstractmethod
    def candidates(self, length: Length) -> Sequence[Candidate]:
        """What it could do for texts of `length` tokens, as far as it knows them; none: nothing."""

    @abstractmethod
    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        """Propose at most `depth` tokens after one another for each text.

        At depth 0, asked only where its candidate has shadows: the shadow of the latest tokens.
        """

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        """A pass of the target was built: of prefill (no verdict), or of a round."""
        return None

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        """The host has read a round and knows the texts up to here.

        Returns:
            What it would have drafted of the new tokens, where that costs nothing to tell.
        """
        return ()
