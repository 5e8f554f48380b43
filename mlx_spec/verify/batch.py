"""The verifiers of a batch: one per sequence."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import mlx.core as mx
from jaxtyping import Float, Int

from mlx_spec.arrays import Draft, Length, Tree, Verdict, entry
from mlx_spec.verify.history import History
from mlx_spec.verify.rules import walk
from mlx_spec.verify.verifiers import RoundVerifier, Verifier

Logits = Float[mx.array, "b vocab"]
Drafted = Int[mx.array, "b {index}"]
Proposal = tuple[Int[mx.array, "b 1"], Float[mx.array, "b 1 vocab"] | None]
Tokens = Int[mx.array, "b rows"]


class Proposer(ABC):
    """Chooses a drafter's tokens for one round of all sequences."""

    vocab: int

    @abstractmethod
    def scores(self, logits: Logits, index: int, drafted: Drafted) -> Logits:
        """Scores whose argmax is the drafter's choice at draft position `index`; trees take the best few."""

    @abstractmethod
    def propose(self, logits: Logits, index: int, drafted: Drafted) -> Proposal:
        """The drafter's token at draft position `index`, and its distribution if the rule needs it."""

    @abstractmethod
    def guesses(self, logits: Float[mx.array, "b rows vocab"], known: Tokens) -> Tokens:
        """What it would have proposed, by these logits, in place of the texts' latest tokens `known`."""

    def at_once(self, logits: Float[mx.array, "b depth vocab"]) -> Draft:
        """A chain of tokens whose logits do not depend on each other."""
        chain = Chain(self, len(logits))
        for index in range(logits.shape[1]):
            chain.add(logits[:, index])
        return chain.draft


class Chain:
    """A chain while it is drafted, token by token."""

    def __init__(self, proposer: Proposer, sequences: int):
        self._proposer = proposer
        self._tokens, self._probs = mx.zeros((sequences, 0), mx.int32), list[mx.array]()

    def add(self, logits: Logits) -> Int[mx.array, "b 1"]:
        """The drafter's next token, by these logits."""
        count = self._tokens.shape[1]
        ids, q = self._proposer.propose(logits, count, self._tokens)
        self._tokens = mx.concatenate([self._tokens, ids], axis=1) if count else ids
        self._probs += [] if q is None else [q]
        return ids

    def step(self, logits: Logits) -> Int[mx.array, "b 1"]:
        """The same; the device begins while the host builds what gives the next logits."""
        ids = self.add(logits)
        mx.async_eval(ids)
        return ids

    @property
    def draft(self) -> Draft:
        """All tokens so far."""
        return Draft.chain(self._tokens, mx.concatenate(self._probs, axis=1) if self._probs else None)


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
        self._rounds = self._at(length, depth)

    def _at(self, length: Length, depth: int) -> list[RoundVerifier]:
        """By sequence, for a round that begins at this length."""
        return [
            v.for_round(History(v.options, self._tokens, i, length.of(i)), length.of(i), depth)
            for i, v in enumerate(self._verifiers)
        ]

    def scores(self, logits: Logits, index: int, drafted: Drafted) -> Logits:
        each = [r.scores(logits[i : i + 1], index, drafted) for i, r in enumerate(self._rounds)]
        return mx.concatenate(each)

    def propose(self, logits: Logits, index: int, drafted: Drafted) -> Proposal:
        each = [r.propose(logits[i : i + 1], index, drafted) for i, r in enumerate(self._rounds)]
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
        by_text = [entry(logits, i) for i in range(len(self._rounds))]
        judged = [
            self._chain(i, draft, each) if tree is None else self._tree(i, draft, tree, each)
            for i, each in enumerate(by_text)
        ]
        accepted, path, tokens = (mx.stack(list(each)) for each in zip(*judged, strict=True))
        return Verdict(accepted, path, tokens)

    def guesses(self, logits: Float[mx.array, "b rows vocab"], known: Tokens) -> Tokens:
        count = known.shape[1]
        rounds = self._at(self._length.plus(-count), count - 1)
        return mx.stack([r.guesses(entry(logits, i), known) for i, r in enumerate(rounds)])

    def _plain(self, draft: Draft, logits: mx.array) -> Verdict:
        scores = self.scores(logits, 0, draft.tokens)
        nothing = mx.zeros((len(scores),), mx.int32)
        return Verdict(nothing, nothing[:, None], mx.argmax(scores, axis=-1, keepdims=True).astype(mx.int32))

    def _chain(self, i: int, draft: Draft, logits: mx.array) -> tuple[mx.array, mx.array, mx.array]:
        accepted, tokens = self._rounds[i].judge(draft, logits)
        return accepted, mx.arange(draft.depth + 1), tokens

    def _tree(
        self, i: int, draft: Draft, tree: Tree, logits: mx.array
    ) -> tuple[mx.array, mx.array, mx.array]:
        own = self._rounds[i].own(draft, tree, logits)
        accepted, path = walk(own, entry(draft.tokens, i), entry(tree.parents, i), draft.depth)
        return accepted, path, own[path]
