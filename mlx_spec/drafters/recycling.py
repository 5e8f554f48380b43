"""The target's own runners-up: what followed the last two tokens before, or the last one, is drafted again.

Token Recycling (Luo et al., ACL 2025, arXiv 2408.08696), as a chain: tables of what the target found likeliest
after every row of every round, accepted or not, and of what followed in the prompt. Two tokens tell more
than one, which is known more often. No training, no model of its own, and nothing leaves the device.
"""

from collections.abc import Sequence

import mlx.core as mx

from mlx_spec.arrays import Draft, Length, Output, Pass, Verdict
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter, Shadow, Texts
from mlx_spec.target.model import Model
from mlx_spec.verify.batch import BatchVerifier

CANDIDATE = Candidate("recycling", "recycling", prior=0.3, limit=7)
"""The likelihood that a chain holds falls quickly with its length."""
PLACES = 1 << 15
"""Of pairs of tokens: more than a long chat has. Of those that share a place the newest is kept."""
FACTOR = 40503
"""Odd: pairs whose tokens are near each other get places far apart."""


class RecyclingDrafter(Drafter):
    """Drafts what came after the last tokens, as the target last saw them, and so on."""

    name = "recycling"

    def __init__(self) -> None:
        self._next = mx.zeros((0,), mx.int32)
        """`[vocab]`, what follows each token."""
        self._pairs = mx.zeros((PLACES, 2), mx.int32)
        """The first token of the pair at each place, and what follows the pair."""
        self._before = mx.zeros((0, 1), mx.int32)
        """`[b, 1]`, the token before the last one of each text."""

    def meet(self, target: Model) -> None:
        self._next = mx.zeros((target.vocab,), mx.int32)

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        self._before = mx.array([[*text[-2:], 0][:1] for text in texts], mx.int32)

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return (CANDIDATE,)

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        before, last = self._before, context.last(1)
        drafted = [last[:, :0]]
        for _ in range(depth):
            pair = self._pairs[_place(before, last)]
            known = pair[..., 0] == before
            before, last = last, mx.where(known, pair[..., 1], self._next[last])
            drafted.append(last)
        return Draft.chain(mx.concatenate(drafted, axis=1))

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        if verdict is None or p.draft is None:  # logits of a prompt are not computed but for its last token
            self._keep(p.ids[:, :-2], p.ids[:, 1:-1], p.ids[:, 2:])
            return
        rows = p.draft.tokens.shape[1] + 1
        ids, best = p.ids[:, -rows:], mx.argmax(output.logits[:, -rows:], axis=-1).astype(mx.int32)
        parents = ids[:, :-1] if p.tree is None else mx.take_along_axis(ids, p.tree.parents[:, 1:], axis=1)
        self._keep(mx.concatenate([self._before, parents], axis=1), ids, best)
        self._before = ids
        if p.draft.depth:
            end = mx.take_along_axis(verdict.path, verdict.accepted[:, None], axis=1)
            self._before = mx.take_along_axis(ids, end, axis=1)

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        mx.async_eval(self._next, self._pairs)  # or the graph would grow while others draft
        return ()

    def _keep(self, before: mx.array, last: mx.array, follows: mx.array) -> None:
        """Tokens `[b, n]` each: what follows the last, and the two."""
        self._pairs[_place(before, last)] = mx.stack([before, follows], axis=-1)
        self._next[last] = follows


def _place(before: mx.array, last: mx.array) -> mx.array:
    return (before * FACTOR + last) & (PLACES - 1)
