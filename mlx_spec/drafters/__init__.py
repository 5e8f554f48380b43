"""What a drafter is: read this to write one.

A drafter proposes the next few tokens of a text it is shown. It keeps itself in step (a rejected
draft, another turn, rounds that others drafted), returns only its draft, and an empty draft is
always legal. It knows nothing of how long is best or how drafts are verified.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import mlx.core as mx
from jaxtyping import Int

from mlx_spec.policy.plan import Offer
from mlx_spec.target.cache import Extent
from mlx_spec.verify.verifiers import Draft, RoundRule, RuleBook


@dataclass(frozen=True, slots=True)
class Context:
    """The text at the start of a round."""

    known: Sequence[int]
    """Tokens the host has read; all of them where the drafter declares `reads_host`."""
    tokens: Int[mx.array, " capacity"]
    """All tokens, on the device; entries at and after `length` are meaningless."""
    length: Extent

    def last(self, count: int) -> Int[mx.array, " count"]:
        """The last `count` tokens, lazily."""
        start = self.length.value - count
        if isinstance(start, int):
            return self.tokens[start : start + count]
        return mx.slice(self.tokens, start, (0,), (count,))


@runtime_checkable
class Drafter(Protocol):
    """One idea of how to guess."""

    name: str

    @property
    def reads_host(self) -> bool:
        """Whether `draft` needs `context.known` to be complete: the loop then reads first."""
        ...

    def begin(self, tokens: Sequence[int], documents: Sequence[Sequence[int]]) -> None:
        """A turn begins with this prompt; `documents` are other texts the answer may copy from.

        What takes a pass of a model is left to `draft`: nothing here may delay the first token.
        """
        ...

    def offer(self) -> Offer | None:
        """What it could do for the text as far as it was read; None: nothing."""
        ...

    def draft(self, context: Context, length: int, rule: RoundRule) -> Draft:
        """Propose at most `length` (1 or more) tokens to follow the context."""
        ...

    def review(self, context: Context, book: RuleBook) -> Int[mx.array, " count"]:
        """Of the latest tokens that it did not draft: 1 where it would have. Only where its offer says so."""
        ...

    def hindsight(self) -> Sequence[tuple[Offer, bool]]:
        """The same of the tokens that were read since it was last asked, where the answer costs nothing."""
        ...

    def skipped(self, count: int) -> None:
        """The text gained `count` tokens in a round this drafter did not draft."""
        ...

    def keep(self, known: Sequence[int]) -> None:
        """The host has read up to here: what a later prefill may build on."""
        ...
