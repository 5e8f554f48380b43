"""A verification rule set up for one round: the noise, how a drafter proposes, how drafts are judged.

Drafters propose through the same law as the target's (penalties, temperature, filters), so that
guesses are as good as they can be; losslessness never rests on it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import mlx.core as mx
from jaxtyping import Float, Int

from mlx_spec.target.cache import Extent
from mlx_spec.types import Options
from mlx_spec.verify.distribution import logprobs, penalise, unnormalised
from mlx_spec.verify.noise import Stream, fold, gumbel_rows, streams
from mlx_spec.verify.rules import Verdict
from mlx_spec.verify import rules as verify


@dataclass(frozen=True, slots=True)
class Draft:
    """What a drafter proposes for one round. Empty is always legal and means a plain round."""

    tokens: Int[mx.array, " k"]
    laws: Float[mx.array, "k vocab"] | None = None
    """What each token was drawn from. None: a guess without a law, a point mass."""

    @property
    def length(self) -> int:
        return self.tokens.shape[0]


NO_DRAFT = Draft(mx.zeros((0,), mx.int32))


class History:
    """The tokens before each row that the repetition penalty looks at. Nothing when it is off."""

    def __init__(self, options: Options, context: mx.array, length: Extent):
        self.penalty = options.repetition_penalty
        self.window = options.repetition_context
        if self.penalty != 1:
            places = length.value - self.window + mx.arange(self.window)
            self.before = context[mx.maximum(places, 0)]

    def penalise(self, logits: mx.array, first: int, drafted: mx.array) -> mx.array:
        """Penalties for rows `first`, `first + 1`, ... given the draft so far."""
        if self.penalty == 1:
            return logits
        tokens = mx.concatenate([self.before, drafted])
        rows = mx.arange(first, first + logits.shape[0])[:, None] + mx.arange(self.window)[None]
        recent = mx.minimum(tokens[rows], logits.shape[-1] - 1)
        return penalise(logits, recent, self.penalty)


@runtime_checkable
class RoundRule(Protocol):
    """One rule for one round."""

    def propose(
        self, logits: Float[mx.array, "1 vocab"], index: int, drafted: Int[mx.array, " {index}"]
    ) -> tuple[Int[mx.array, "1"], Float[mx.array, "1 vocab"] | None]:
        """The drafter's token at draft position `index`, and the law it was drawn from if it was."""
        ...

    def judge(self, draft: Draft, logits: Float[mx.array, "rows vocab"]) -> Verdict:
        """How many drafted tokens stand, and the target's own token after them."""
        ...

    def scores(self, logits: Float[mx.array, "1 vocab"]) -> Float[mx.array, "1 vocab"]:
        """What the target's own choice at the round's first position is the argmax of."""
        ...

    def guesses(
        self, logits: Float[mx.array, "rows vocab"], known: Int[mx.array, " rows"]
    ) -> Int[mx.array, " rows"]:
        """What a drafter of these logits would have proposed, the tokens before each row being `known`."""
        ...


class GreedyRound:
    """Temperature 0: every rule accepts while the draft equals the target's argmax."""

    def __init__(self, history: History):
        self.history = history

    def propose(
        self, logits: Float[mx.array, "1 vocab"], index: int, drafted: Int[mx.array, " {index}"]
    ) -> tuple[Int[mx.array, "1"], None]:
        scores = self.history.penalise(logits, index, drafted)
        return mx.argmax(scores, axis=-1).astype(mx.int32), None

    def judge(self, draft: Draft, logits: Float[mx.array, "rows vocab"]) -> Verdict:
        return verify.coupled(draft.tokens, self.history.penalise(logits, 0, draft.tokens), None)

    def scores(self, logits: Float[mx.array, "1 vocab"]) -> Float[mx.array, "1 vocab"]:
        return self.history.penalise(logits, 0, NO_DRAFT.tokens)

    def guesses(
        self, logits: Float[mx.array, "rows vocab"], known: Int[mx.array, " rows"]
    ) -> Int[mx.array, " rows"]:
        return mx.argmax(self.history.penalise(logits, 0, known), axis=-1).astype(mx.int32)


class CoupledRound:
    """Shared Gumbel noise, keyed by the position in the context."""

    def __init__(
        self, options: Options, history: History, stream: Stream, length: Extent, k: int, vocab: int
    ):
        self.options = options
        self.history = history
        self.gumbel = gumbel_rows(stream, length.value, k + 1, vocab)

    def propose(
        self, logits: Float[mx.array, "1 vocab"], index: int, drafted: Int[mx.array, " {index}"]
    ) -> tuple[Int[mx.array, "1"], None]:
        law = self._law(logits, index, drafted)
        noisy = law + self.gumbel[index : index + 1, : logits.shape[-1]]
        return mx.argmax(noisy, axis=-1).astype(mx.int32), None

    def judge(self, draft: Draft, logits: Float[mx.array, "rows vocab"]) -> Verdict:
        # The noise is for as many as were asked for; a draft may be shorter.
        gumbel = self.gumbel[: draft.length + 1]
        return verify.coupled(draft.tokens, self._law(logits, 0, draft.tokens), gumbel)

    def scores(self, logits: Float[mx.array, "1 vocab"]) -> Float[mx.array, "1 vocab"]:
        return self._law(logits, 0, NO_DRAFT.tokens) + self.gumbel[:1]

    def guesses(
        self, logits: Float[mx.array, "rows vocab"], known: Int[mx.array, " rows"]
    ) -> Int[mx.array, " rows"]:
        rows, vocab = logits.shape
        return mx.argmax(self._law(logits, 0, known) + self.gumbel[:rows, :vocab], axis=-1).astype(mx.int32)

    def _law(self, logits: mx.array, first: int, drafted: mx.array) -> mx.array:
        return unnormalised(self.history.penalise(logits, first, drafted), self.options)


class RejectionRound:
    """Token or block verification; noise keyed by the length of the text when the round began.

    Not by output position: a position can be drafted twice, and block verification's decision on
    the first draft depends on every token in it, so its noise must not be used again.
    """

    def __init__(
        self,
        options: Options,
        history: History,
        proposals: Stream,
        acceptance: Stream,
        length: Extent,
        k: int,
        vocab: int,
        rule: Callable[..., Verdict],
    ):
        self.options = options
        self.history = history
        self.rule = rule
        self.vocab = vocab
        self.proposals = mx.random.split(fold(proposals, length.value), max(k, 1))
        accept, bonus = mx.random.split(fold(acceptance, length.value), 2)
        self.uniform = mx.random.uniform(shape=(k,), key=accept)
        self.gumbel = mx.random.gumbel((vocab,), key=bonus)

    def propose(
        self, logits: Float[mx.array, "1 vocab"], index: int, drafted: Int[mx.array, " {index}"]
    ) -> tuple[Int[mx.array, "1"], Float[mx.array, "1 vocab"]]:
        law = self._law(logits, index, drafted)
        noise = mx.random.gumbel(law.shape, key=self.proposals[index])
        return mx.argmax(law + noise, axis=-1).astype(mx.int32), mx.exp(law)

    def judge(self, draft: Draft, logits: Float[mx.array, "rows vocab"]) -> Verdict:
        p = mx.exp(self._law(logits, 0, draft.tokens))
        q = draft.laws
        if q is None:
            q = (mx.arange(self.vocab)[None] == draft.tokens[:, None]).astype(p.dtype)
        elif q.shape[-1] < self.vocab:
            q = mx.pad(q, [(0, 0), (0, self.vocab - q.shape[-1])])
        return self.rule(draft.tokens, q, p, self.uniform[: draft.length], self.gumbel)

    def scores(self, logits: Float[mx.array, "1 vocab"]) -> Float[mx.array, "1 vocab"]:
        return self._law(logits, 0, NO_DRAFT.tokens) + self.gumbel[None]

    def guesses(
        self, logits: Float[mx.array, "rows vocab"], known: Int[mx.array, " rows"]
    ) -> Int[mx.array, " rows"]:
        # Its noise is spent where a draft was drawn: the likeliest token stands for what it would have been.
        return mx.argmax(self._law(logits, 0, known), axis=-1).astype(mx.int32)

    def _law(self, logits: mx.array, first: int, drafted: mx.array) -> mx.array:
        return logprobs(self.history.penalise(logits, first, drafted), self.options)


class RuleBook:
    """Makes the rule of each round from the options of one generation."""

    def __init__(self, options: Options, vocab: int):
        self.options = options
        self.vocab = vocab
        self.shared, self.proposals, self.acceptance = streams(options.seed)

    def open(self, context: Int[mx.array, " capacity"], length: Extent, k: int) -> RoundRule:
        """The rule for a round that starts at `length` tokens and drafts at most k."""
        history = History(self.options, context, length)
        if self.options.temperature == 0:
            return GreedyRound(history)
        if self.options.verify == "coupled":
            return CoupledRound(self.options, history, self.shared, length, k, self.vocab)
        rule = verify.token if self.options.verify == "token" else verify.block
        return RejectionRound(
            self.options, history, self.proposals, self.acceptance, length, k, self.vocab, rule
        )
