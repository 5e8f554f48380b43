"""Drafts by a smaller model of the same vocabulary, one token at a time, all on the device."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.arrays import Draft, Length, Output, Pass, Verdict
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter, Shadow, Texts
from mlx_spec.target.model import Model
from mlx_spec.verify.batch import Chain, Proposer

CANDIDATE = Candidate("model", kind="model", prior=0.5, limit=15)
"""The limit gives passes over 16 rows: from about 10 rows on they hardly take longer, on this project's CPU
and by the published curves of M3 and M4. On an M5 they do; there their measured cost keeps drafts shorter."""
AT_ONCE = 256
"""Missed tokens that it reads between two rounds of a batch, at most: all its texts wait."""
LONG_LAG = 32
"""The most unread tokens that the first step of a draft reads; more are read in chunks before."""


class ModelDrafter(Drafter):
    """Any model of mlx-lm whose cache can be rewound.

    Args:
        context_limit: positions the model has; it does not draft beyond. None: no limit.

    Raises:
        UnsupportedModel: its layers keep state that cannot be rewound.
    """

    name = "model"
    candidate = CANDIDATE
    skipped = 0
    """Tokens at the beginning of a text that it does not read."""
    left = 2
    """After a round of its own the draft model has seen all but the last two tokens, however many
    were accepted: no special case for "all of them", and shapes never depend on acceptance."""
    usual_lag = 2
    """The most unread tokens if it drafts every round."""
    reads_again = False
    """Whether it reads its own accepted tokens again."""

    def __init__(self, model: nn.Module, context_limit: int | None = None):
        self.cached = Model(model)
        self.models = (self.cached,)
        self._context_limit = context_limit
        self._lag = self.usual_lag
        """Upper bound of the unread tokens at the end of the longest text."""
        self._others = 0
        """Of these, tokens that it neither drafted nor had in a shadow draft."""
        self._own: Draft | None = None
        self._assumed: deque[tuple[int, int]] = deque()
        """By round in flight: what it was assumed to add to both; 0 before a draft of its own."""
        self._texts: list[list[int]] = []
        """The texts it is to read, as far as the host knows them."""

    def attach(self, target: Model) -> None:
        super().attach(target)
        if target.vocab > self.cached.vocab:
            self.cached.clamp()

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        self._texts = [list(tokens[self.skipped :]) for tokens in texts]
        rests = [
            len(text) - self.cached.resume(text, max(0, len(text) - max(1, self.left)), i)
            for i, text in enumerate(self._texts)
            if texts[i]
        ]
        self._lag, self._others = max(rests), 0
        self._assumed.clear()

    def candidates(self, length: Length) -> Sequence[Candidate]:
        usual = self.candidate
        room = usual.room if self._context_limit is None else self._context_limit - length.high
        far = self._is_far(length)
        return [replace(usual, shadows=self._shadows, behind=self._behind, host_text=far, room=room)]

    def draft(self, context: Context, depth: int, verifier: Proposer) -> Draft:
        if self._is_far(context.length) and not self._catch_up(context):
            self._own = Draft.none(len(context.host_tokens))
            return self._own
        self._own = self._chain(context, depth, verifier) if depth else self._shadow(context, verifier)
        # A plain round adds one token: after a shadow draft as many are unread then as after a draft.
        self._lag, self._others = self.left if depth else max(0, self.left - 1), 0
        self._assumed = deque([(0, 0)] * len(self._assumed))
        return self._own

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        if verdict is None or p.draft is None:
            return
        gained, own = p.draft.depth + 1, p.draft is self._own and p.draft.depth > 0
        lag, others = gained if self.reads_again or not own else 0, 0 if own else gained
        self._lag += lag
        self._others += others
        self._assumed.append((lag, others))

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        pairs = [(i, text, self._texts[i]) for i, text in enumerate(texts) if text]
        gained = max(len(text) - self.skipped - len(own) for _, text, own in pairs)
        lag, others = self._assumed.popleft()
        self._lag -= max(0, lag - gained)
        self._others -= max(0, others - gained)
        for i, text, own in pairs:
            own.extend(text[self.skipped + len(own) :])
            # Of a batch some are read further while the others are caught up.
            self.cached.read_to(own, max(self.cached.seen[i], len(own) - self._lag), i)
        return ()

    @property
    def _behind(self) -> int:
        """Missed tokens of all texts."""
        if (longest := self._lag - self.usual_lag) <= 0:
            return 0
        unread = (len(own) - seen for own, seen in zip(self._texts, self.cached.seen, strict=True) if own)
        return max(longest, sum(max(0, each - self.usual_lag) for each in unread))

    @property
    def _shadows(self) -> int:
        """Latest tokens that its first step can predict: all that it reads but the first."""
        return min(self._others, self._lag - 1)

    def _is_far(self, length: Length) -> bool:
        return self._lag > min(LONG_LAG, length.low - self.skipped)

    def _catch_up(self, context: Context) -> bool:
        """Prefill missed tokens, of a batch at most `AT_ONCE`. Returns whether that was all."""
        lag = min(LONG_LAG, context.length.low - self.skipped)
        piece = AT_ONCE if len(context.host_tokens) > 1 else context.length.high
        rests: list[int] = []
        for i, text in enumerate(context.host_tokens):
            if text:
                own, end = text[self.skipped :], len(text) - self.skipped - lag
                self._borrow(text, i)
                first = self.cached.shared(own, i)
                self._prefill(own, min(end, first + piece), i)
                piece -= max(0, self.cached.seen[i] - first)
                rests.append(len(own) - self.cached.seen[i])
        self._lag = max(rests)
        return self._lag <= lag

    def _borrow(self, text: Sequence[int], sequence: int) -> None:
        self.cached.borrow(text[self.skipped :], sequence)

    def _prefill(self, text: Sequence[int], count: int, sequence: int) -> None:
        self.cached.prefill(text, count, sequence=sequence)

    def _chain(self, context: Context, depth: int, verifier: Proposer) -> Draft:
        p = self._first(context)
        chain, output = Chain(verifier, len(p.ids)), self._step(p)
        for left in reversed(range(depth)):
            ids = chain.step(self._logits(output, slice(-1, None))[:, 0, : verifier.vocab])
            if left:
                p = self._next(p, ids, output)
                output = self.cached.follow(p)
        return chain.draft

    def _shadow(self, context: Context, verifier: Proposer) -> Draft:
        p = self._first(context)
        count = self._shadows
        known = p.ids[:, -count:]
        logits = self._logits(self._step(p), slice(-1 - count, -1))
        guesses = verifier.guesses(logits[:, :, : verifier.vocab], known)
        return Draft.none(len(known), shadow=(guesses == known).astype(mx.int32))

    def _masked(self, context: Context, depth: int, verifier: Proposer, mask: int) -> Draft:
        """A chain in one pass: the rows of the text's last token and of masks behind it guess the tokens."""
        p = self._first(context)
        masks = mx.full((len(p.ids), depth - 1), mask, mx.int32)
        output = self._step(replace(p, ids=mx.concatenate([p.ids, masks], axis=1)))
        return verifier.at_once(self._logits(output, slice(-depth, None))[:, :, : verifier.vocab])

    def _first(self, context: Context) -> Pass:
        """The first step of a draft, over all unread tokens."""
        start = context.length.plus(-self.skipped - self._lag)
        for i, text in enumerate(context.host_tokens):
            if not text:
                self.cached.overwrite(start.low, i)
        return Pass(context.last(self._lag), start)

    def _next(self, p: Pass, ids: mx.array, output: Output) -> Pass:
        """The step after `p`, over one token more."""
        return Pass(ids, p.start.plus(p.ids.shape[1]))

    def _logits(self, output: Output, rows: slice) -> mx.array:
        return output.logits[:, rows]

    def _step(self, p: Pass) -> Output:
        recurs = self._lag <= self.usual_lag
        return self.cached.decode(p) if recurs else self.cached.forward(p)
