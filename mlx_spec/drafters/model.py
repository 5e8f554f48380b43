"""A smaller model of the same vocabulary drafts, one token at a time, all on the device."""

from collections import deque
from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.arrays import Draft, Length, Output, Pass, Verdict
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter, Shadow, Texts
from mlx_spec.target.model import Model
from mlx_spec.verify.batch import BatchVerifier

CANDIDATE = Candidate("model", kind="model", prior=0.5, limit=15)
"""Up to a pass over 16 rows: passes hardly grow from about 10 rows on, on this project's CPU and by the
published curves of M3 and M4. On an M5 they do, and what they cost keeps drafts shorter there."""
STEADY_LAG = 2
"""After a round of its own the draft model has seen all but the last two tokens, however many
were accepted: no special case for "all of them", and shapes never depend on acceptance."""
LONG_LAG = 32
"""Tokens behind the text that the first step of a draft takes along; more are read in chunks before."""


class ModelDrafter(Drafter):
    """Any model of mlx-lm whose cache goes back.

    Args:
        context_limit: positions the model has; it rests where the text goes beyond. None: no limit.

    Raises:
        UnsupportedModel: its layers keep state that cannot be rewound.
    """

    name = "model"

    def __init__(self, model: nn.Module, context_limit: int | None = None):
        self.cached = Model(model)
        self.models = (self.cached,)
        self._context_limit = context_limit
        self._lag = STEADY_LAG
        """Tokens at the end of the longest text that it has not seen, at most."""
        self._others = 0
        """Of them, those that it neither drafted nor shadowed."""
        self._own: Draft | None = None
        self._assumed: deque[int] = deque()
        """By round that is not read: what it was taken to add to `_lag`; 0 before a draft of its own."""
        self._lengths: list[int] = []
        """Of the texts, as far as the host has read them."""

    def begin(self, prompts: Texts, documents: Texts) -> None:
        self.cached.resize(len(prompts))
        resumed = [
            self.cached.resume(tokens, max(0, len(tokens) - STEADY_LAG), i)
            for i, tokens in enumerate(prompts)
        ]
        self._lag = max(len(tokens) - seen for tokens, seen in zip(prompts, resumed, strict=True))
        self._others, self._lengths = 0, [len(tokens) for tokens in prompts]
        self._assumed.clear()

    def candidates(self, length: Length) -> Sequence[Candidate]:
        room = CANDIDATE.room if self._context_limit is None else self._context_limit - length.high
        if room <= 0:
            return ()
        behind = max(0, self._lag - STEADY_LAG)
        far = self._is_far(length)
        name, kind, prior, limit = CANDIDATE.drafter, CANDIDATE.kind, CANDIDATE.prior, CANDIDATE.limit
        return [Candidate(name, kind, prior, limit, self._others, behind, host_text=far, room=room)]

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        self.cached.clamps = verifier.vocab > self.cached.vocab
        if self._is_far(context.length):
            self._catch_up(context)
        self._own = self._chain(context, depth, verifier) if depth else self._shadow(context, verifier)
        return self._own

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        if verdict is None or p.draft is None:
            return
        gained = 0 if p.draft is self._own and p.draft.depth else p.draft.depth + 1
        self._lag += gained
        self._others += gained
        self._assumed.append(gained)

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        gained = max(len(text) - before for text, before in zip(texts, self._lengths, strict=True))
        excess = max(0, self._assumed.popleft() - gained)
        self._lag -= excess
        self._others -= excess
        self._lengths = [len(text) for text in texts]
        for i, text in enumerate(texts):
            self.cached.read_to(text, max(0, len(text) - self._lag), i)
        return ()

    def _is_far(self, length: Length) -> bool:
        return self._lag > min(LONG_LAG, length.low)

    def _catch_up(self, context: Context) -> None:
        """Read what it missed as a prompt."""
        self._lag = min(LONG_LAG, context.length.low)
        for i, text in enumerate(context.host_tokens):
            self.cached.prefill(text, len(text) - self._lag, sequence=i)

    def _chain(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        p = self._first(context)
        drafted = mx.zeros((p.ids.shape[0], 0), mx.int32)
        probs = []
        for index in range(depth):
            logits = (self._step(p) if index == 0 else self.cached.follow(p).logits)[:, -1]
            ids, q = verifier.propose(logits[:, : verifier.vocab], index, drafted)
            mx.async_eval(ids)  # the device begins while the host builds the next step
            drafted = mx.concatenate([drafted, ids], axis=1)
            probs += [] if q is None else [q]
            p = Pass(ids, p.start.plus(p.ids.shape[1]))
        self._begin_anew(STEADY_LAG)
        return Draft.chain(drafted, mx.concatenate(probs, axis=1) if probs else None)

    def _shadow(self, context: Context, verifier: BatchVerifier) -> Draft:
        p = self._first(context)
        logits = self._step(p)[:, :, : verifier.vocab]
        count = min(self._others, self._lag - 1)
        known = p.ids[:, -count:]
        guesses = verifier.before(count).guesses(logits[:, -1 - count : -1], known)
        # One token is read again with what the text gains now: two are behind, as after a draft.
        self._begin_anew(STEADY_LAG - 1)
        return Draft.none(len(known), shadow=(guesses == known).astype(mx.int32))

    def _begin_anew(self, lag: int) -> None:
        self._lag, self._others = lag, 0
        self._assumed = deque([0] * len(self._assumed))

    def _first(self, context: Context) -> Pass:
        """The first step of a draft, over all the tokens the model has not seen."""
        return Pass(context.last(self._lag), context.length.plus(-self._lag))

    def _step(self, p: Pass) -> mx.array:
        recurs = p.ids.shape[1] <= STEADY_LAG
        return (self.cached.decode(p) if recurs else self.cached.forward(p)).logits
