"""A smaller model of the same vocabulary drafts, one token at a time, all on the device."""

from collections.abc import Sequence
from dataclasses import replace

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.drafters import Context
from mlx_spec.policy.plan import Offer
from mlx_spec.target.cache import Extent
from mlx_spec.target.model import CachedModel
from mlx_spec.verify.verifiers import Draft, RoundRule, RuleBook

OFFER = Offer("model", kind="model", prior=0.5, limit=15)
"""Up to a pass over 16 rows: passes hardly grow from about 10 rows on, on this project's CPU and by the
published curves of M3 and M4. On an M5 they do, and what they cost keeps drafts shorter there."""
STEADY_LAG = 2
"""After a round of its own the draft model has seen all but the last two tokens, however many
were accepted: no special case for "all of them", and shapes never depend on acceptance."""
LONG_LAG = 32
"""Tokens behind the text that the first step of a draft takes along; more are read in chunks before."""


class ModelDrafter:
    """Any model of mlx-lm whose cache rewinds.

    Raises:
        UnsupportedModel: its layers keep state that cannot be rewound.
    """

    name = "model"

    def __init__(self, model: nn.Module, target_vocab: int):
        self.cached = CachedModel(model)
        # The target may know ids beyond the draft model's embedding rows: MLX checks no bounds.
        self.cached.clamps = target_vocab > self.cached.vocab
        self.vocab = min(self.cached.vocab, target_vocab)
        self._lag = STEADY_LAG
        self._others = 0
        """Tokens at the end of the text that it neither drafted nor reviewed."""

    @property
    def reads_host(self) -> bool:
        """Far behind, it first reads what it missed as a prompt, from the host's copy of the text."""
        return self._lag > LONG_LAG

    def begin(self, tokens: Sequence[int], documents: Sequence[Sequence[int]]) -> None:
        self._lag = len(tokens) - self.cached.resume(tokens, max(0, len(tokens) - STEADY_LAG))
        self._others = 0

    def offer(self) -> Offer:
        return replace(OFFER, reviews=self._others, behind=max(0, self._lag - STEADY_LAG))

    def draft(self, context: Context, length: int, rule: RoundRule) -> Draft:
        self._catch_up(context)
        ids, at = context.last(self._lag), context.length.plus(-self._lag)
        drafted = mx.zeros((0,), mx.int32)
        laws = []
        for index in range(length):
            logits = self._step(ids, at) if index == 0 else self.cached.follow(ids, at)
            at = at.plus(ids.shape[0])
            ids, law = rule.propose(logits[-1:, : self.vocab], index, drafted)
            mx.async_eval(ids)  # the device begins while the host builds the next step
            drafted = mx.concatenate([drafted, ids])
            laws.append(law)
        self._lag, self._others = STEADY_LAG, 0
        return Draft(drafted, None if laws[0] is None else mx.concatenate(laws))

    def review(self, context: Context, book: RuleBook) -> mx.array:
        self._catch_up(context)
        ids, at = context.last(self._lag), context.length.plus(-self._lag)
        logits = self._step(ids, at)
        count = min(self._others, self._lag - 1)
        known = ids[-count:]
        rule = book.open(context.tokens, context.length.plus(-count), count - 1)
        # One token is read again with what the text gains now: two are behind, as after a draft.
        self._lag, self._others = STEADY_LAG - 1, 0
        return (rule.guesses(logits[-1 - count : -1, : self.vocab], known) == known).astype(mx.int32)

    def hindsight(self) -> Sequence[tuple[Offer, bool]]:
        return ()

    def _catch_up(self, context: Context) -> None:
        if self.reads_host:
            self.cached.prefill(context.known, len(context.known) - LONG_LAG)
            self._lag = LONG_LAG

    def _step(self, ids: mx.array, at: Extent) -> mx.array:
        """The first step of a draft, over all the tokens the model has not seen."""
        return (self.cached.decode if len(ids) <= STEADY_LAG else self.cached.forward)(ids, at)

    def skipped(self, count: int) -> None:
        self._lag += count
        self._others += count

    def keep(self, known: Sequence[int]) -> None:
        self.cached.tokens = known
        self.cached.seen = max(0, len(known) - self._lag)
