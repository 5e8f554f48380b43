"""One verification rule set up for one round of one sequence: how to propose, how to judge.

Drafters propose through the same penalties, temperature and filters as the target, so that more is accepted;
losslessness does not depend on it.
"""

import mlx.core as mx
from jaxtyping import Float, Int, UInt32

from mlx_spec.arrays import Draft, Tree, entry
from mlx_spec.types import Options
from mlx_spec.verify import rules
from mlx_spec.verify.distribution import logprobs, unnormalised
from mlx_spec.verify.history import History
from mlx_spec.verify.noise import Gumbel, fold, gumbel, streams, uniform

Logits = Float[mx.array, "1 vocab"]
LogitRows = Float[mx.array, "rows vocab"]
Drafted = Int[mx.array, "b {index}"]
Known = Int[mx.array, "b rows"]
Tokens = Int[mx.array, " rows"]
Key = UInt32[mx.array, "2"]


class CoupledRound:
    """The target's own choices, by noise keyed by the position; at temperature 0 without noise.

    Args:
        noise: `[depth + 1, vocab]`; None at temperature 0.
    """

    def __init__(self, options: Options, history: History, noise: mx.array | None):
        self._options, self._history, self._gumbel = options, history, noise

    def scores(self, logits: Logits, index: int, drafted: Drafted) -> Logits:
        """Scores whose argmax is the drafter's choice at draft position `index`."""
        return self._noisy(self._history.penalise(logits, index, drafted), slice(index, index + 1))

    def propose(self, logits: Logits, index: int, drafted: Drafted) -> tuple[Int[mx.array, "1"], None]:
        """That choice, and the distribution it was drawn from if the rule needs it."""
        return _choice(self.scores(logits, index, drafted)), None

    def judge(self, draft: Draft, logits: LogitRows) -> rules.ChainVerdict:
        """Verify a chain."""
        drafted = entry(draft.tokens, self._history.sequence)
        return rules.coupled(drafted, self._chain(logits, draft.tokens))

    def own(self, draft: Draft, tree: Tree, logits: LogitRows) -> Tokens:
        """The target's own token after each row of a tree: rows of one depth share their noise."""
        penalised = self._history.penalise_tree(logits, draft.tokens, tree)
        return _choice(self._noisy(penalised, entry(tree.depths, self._history.sequence)))

    def guesses(self, logits: LogitRows, known: Known) -> Tokens:
        """A drafter's tokens by these logits; `known` has the texts' tokens at the same positions."""
        return _choice(self._chain(logits, known))

    def _chain(self, logits: LogitRows, tokens: mx.array) -> LogitRows:
        """Scores of the first rows, each after the tokens before it."""
        return self._noisy(self._history.penalise(logits, 0, tokens), slice(len(logits)))

    def _noisy(self, logits: LogitRows, rows: slice | mx.array) -> LogitRows:
        if self._gumbel is None:
            return logits
        return unnormalised(logits, self._options) + self._gumbel[rows, : logits.shape[-1]]


class RejectionRound:
    """Token or block verification; noise keyed by the length of the text when the round began.

    Not by output position: a position can be drafted twice, and block verification's decision on
    the first draft depends on every token in it, so its noise must not be used again. A tree is drawn from
    no distribution: it is accepted where it has the target's own samples.
    """

    def __init__(
        self, options: Options, history: History, depth: int, vocab: int, proposals: Key, acceptance: Key
    ):
        self._options, self._history, self._shape = options, history, (depth + 1, vocab)
        self._rule = rules.token if options.verify == "token" else rules.block
        self._proposals = mx.random.split(proposals, max(depth, 1))
        accept, bonus, self._rows_key = mx.random.split(acceptance, 3)
        self._uniform = uniform(accept, depth)
        self._gumbel = gumbel(bonus, vocab)

    def scores(self, logits: Logits, index: int, drafted: Drafted) -> Logits:
        return self._noisy(self._logprobs(logits, index, drafted), index)

    def propose(self, logits: Logits, index: int, drafted: Drafted) -> tuple[Int[mx.array, "1"], Logits]:
        logs = self._logprobs(logits, index, drafted)
        return _choice(self._noisy(logs, index)), mx.exp(logs)

    def judge(self, draft: Draft, logits: LogitRows) -> rules.ChainVerdict:
        drafted, vocab = entry(draft.tokens, self._history.sequence), self._shape[1]
        p = mx.exp(self._logprobs(logits, 0, draft.tokens))
        if draft.probs is None:
            q = (mx.arange(vocab)[None] == drafted[:, None]).astype(p.dtype)
        else:
            q = entry(draft.probs, self._history.sequence)
            if (missing := vocab - q.shape[-1]) > 0:
                q = mx.pad(q, [(0, 0), (0, missing)])
        return self._rule(drafted, q, p, self._uniform[: len(drafted)], self._gumbel)

    def own(self, draft: Draft, tree: Tree, logits: LogitRows) -> Tokens:
        penalised = self._history.penalise_tree(logits, draft.tokens, tree)
        depths, vocab = self._shape
        noise = mx.stack([gumbel(key, vocab) for key in mx.random.split(self._rows_key, depths)])
        rows = noise[entry(tree.depths, self._history.sequence)]
        return _choice(unnormalised(penalised, self._options) + rows)

    def guesses(self, logits: LogitRows, known: Known) -> Tokens:
        # The noise of these positions was used for their drafts: take the likeliest tokens.
        return _choice(self._logprobs(logits, 0, known))

    def _logprobs(self, logits: mx.array, first: int, drafted: mx.array) -> mx.array:
        return logprobs(self._history.penalise(logits, first, drafted), self._options)

    def _noisy(self, logs: mx.array, index: int) -> mx.array:
        return logs + gumbel(self._proposals[index], logs.shape[-1])


RoundVerifier = CoupledRound | RejectionRound
"""One rule for one round of one sequence; the methods are as in `CoupledRound`."""


class Verifier:
    """Makes the verifier of each round of one sequence, from its options."""

    def __init__(self, options: Options, vocab: int):
        self.options = options
        self.vocab = vocab
        shared, self._proposals, self._acceptance = streams(options.seed)
        self._shared = Gumbel(shared, vocab)

    def for_round(self, history: History, length: int | mx.array, depth: int) -> RoundVerifier:
        """For a round that starts at `length` tokens and drafts at most `depth` after one another."""
        if self.options.temperature == 0:
            return CoupledRound(self.options, history, None)
        if self.options.verify == "coupled":
            return CoupledRound(self.options, history, self._shared.rows(length, depth + 1))
        keys = [fold(stream, length) for stream in (self._proposals, self._acceptance)]
        return RejectionRound(self.options, history, depth, self.vocab, *keys)


def _choice(scores: mx.array) -> mx.array:
    return mx.argmax(scores, axis=-1).astype(mx.int32)
