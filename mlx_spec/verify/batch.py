"""The verifiers of a batch: one per sequence."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import mlx.core as mx
from jaxtyping import Float, Int

from mlx_spec.arrays import Draft, Length, Tree, Verdict
from mlx_spec.verify.history import History
from mlx_spec.verify.verifiers import Verifier
from mlx_spec.verify.walk import walk


class Proposer(ABC):
    """Chooses a drafter's tokens for one round of all sequences."""

    vocab: int

    @abstractmethod
    def before(self, count: int) -> "Proposer":
        """That of the round that would have drafted the latest `count` tokens."""

    @abstractmethod
    def scores(
        self, logits: Float[mx.array, "b vocab"], index: int, drafted: Int[mx.array, "b {index}"]
    ) -> Float[mx.array, "b vocab"]:
        """Scores whose argmax is the drafter's choice at draft position `index`; trees take the best few."""

    @abstractmethod
    def propose(
        self, logits: Float[mx.array, "b vocab"], index: int, drafted: Int[mx.array, "b {index}"]
    ) -> tuple[Int[mx.array, "b 1"], Float[mx.array, "b 1 vocab"] | None]:
        """The drafter's token at draft position `index`, and its distribution if the rule needs it."""

    @abstractmethod
    def guesses(
        self, logits: Float[mx.array, "b rows vocab"], known: Int[mx.array, "b rows"]
    ) -> Int[mx.array, "b rows"]:
        """A drafter's tokens by these logits; `known` has the text's tokens at the same positions."""

    def at_once(self, logits: Float[mx.array, "b depth vocab"]) -> Draft:
        """A chain of tokens whose logits do not depend on each other."""
        drafted, probs = mx.zeros((len(logits), 0), mx.int32), []
        for index in range(logits.shape[1]):
            ids, q = self.propose(logits[:, index], index, drafted)
            drafted = mx.concatenate([drafted, ids], axis=1)
            probs += [] if q is None else [q]
        return Draft.chain(drafted, mx.concatenate(probs, axis=1) if probs else None)


class BatchVerifier(Proposer):
    """Proposes and judges by the rule of each sequence.

    Args:
        tokens: `[b, capacity]`, the texts; meaningless from `length` on.
        depth: tokens drafted after one another, at most.
    """

    def __init__(
        self, verifiers: Sequence[Verifier], tokens: Int[mx.array, "b capacity"], length: Length, depth: int
    ):
        self._verifiers, self._tokens, self._length = verifiers, tokens, length
        self.vocab = verifiers[0].vocab
        self._rounds = [
            v.for_round(History(v.options, tokens, i, length.of(i)), length.of(i), depth)
            for i, v in enumerate(verifiers)
        ]

    def before(self, count: int) -> "BatchVerifier":
        return BatchVerifier(self._verifiers, self._tokens, self._length.plus(-count), count - 1)

    def scores(
        self, logits: Float[mx.array, "b vocab"], index: int, drafted: Int[mx.array, "b {index}"]
    ) -> Float[mx.array, "b vocab"]:
        each = [r.scores(logits[i : i + 1], index, drafted[i]) for i, r in enumerate(self._rounds)]
        return mx.concatenate(each)

    def propose(
        self, logits: Float[mx.array, "b vocab"], index: int, drafted: Int[mx.array, "b {index}"]
    ) -> tuple[Int[mx.array, "b 1"], Float[mx.array, "b 1 vocab"] | None]:
        each = [r.propose(logits[i : i + 1], index, drafted[i]) for i, r in enumerate(self._rounds)]
        tokens = mx.stack([token for token, _ in each])
        if not (drawn := [p for _, p in each if p is not None]):
            return tokens, None
        # Sequences that need none (greedy ones, free places) ignore it.
        return tokens, mx.stack([mx.zeros_like(drawn[0]) if p is None else p for _, p in each])

    def judge(self, draft: Draft, tree: Tree | None, logits: Float[mx.array, "b rows vocab"]) -> Verdict:
        """Accept tokens by the last logits: those after the text's last token and each drafted one."""
        if not draft.depth:
            return self._plain(draft, logits[:, -1])
        logits = logits[:, -1 - draft.tokens.shape[1] :]
        judged = [
            self._chain(i, draft, logits[i]) if tree is None else self._tree(i, draft, tree, logits[i])
            for i in range(len(self._rounds))
        ]
        accepted, path, tokens = (mx.stack(list(each)) for each in zip(*judged, strict=True))
        return Verdict(accepted, path, tokens)

    def guesses(
        self, logits: Float[mx.array, "b rows vocab"], known: Int[mx.array, "b rows"]
    ) -> Int[mx.array, "b rows"]:
        return mx.stack([r.guesses(logits[i], known[i]) for i, r in enumerate(self._rounds)])

    def _plain(self, draft: Draft, logits: mx.array) -> Verdict:
        scores = self.scores(logits, 0, draft.tokens)
        nothing = mx.zeros((len(scores),), mx.int32)
        return Verdict(nothing, nothing[:, None], mx.argmax(scores, axis=-1, keepdims=True).astype(mx.int32))

    def _chain(self, i: int, draft: Draft, logits: mx.array) -> tuple[mx.array, mx.array, mx.array]:
        drafted, places = draft.tokens[i], mx.arange(draft.depth + 1)
        probs = None if draft.probs is None else draft.probs[i]
        accepted, bonus = self._rounds[i].judge(drafted, probs, logits)
        return accepted, places, mx.where(places < accepted, mx.pad(drafted, (0, 1)), bonus)

    def _tree(
        self, i: int, draft: Draft, tree: Tree, logits: mx.array
    ) -> tuple[mx.array, mx.array, mx.array]:
        drafted = draft.tokens[i]
        own = self._rounds[i].own(logits, drafted, tree, i)
        accepted, path = walk(own, drafted, tree.parents[i], draft.depth)
        return accepted, path, own[path]
