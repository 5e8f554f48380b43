"""Drafts what followed the last two tokens before, or else the last one, and so on.

Token Recycling (Luo et al., ACL 2025, arXiv 2408.08696), as a chain: tables of what followed in the text, and
of what the target found likeliest after each drafted token, accepted or not. Two tokens predict better than
one, but are found less often. No training, no model of its own; the draft does not wait for the host.
"""

from collections.abc import Sequence
from itertools import pairwise

import mlx.core as mx

from mlx_spec.arrays import Draft, Length, Output, Pass, Verdict, last_of_each
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter, Shadow, Texts
from mlx_spec.target.model import Model
from mlx_spec.verify.batch import BatchVerifier

CANDIDATE = Candidate("recycling", "recycling", prior=0.3, limit=7)
"""A low limit: the probability that a whole chain is accepted falls quickly with its length."""
PLACES = 1 << 15
"""Size of the table of pairs: more than a long chat has. A pair overwrites another at the same place."""
FACTOR = 40503
"""Of the hash. Odd: pairs of nearby ids get places far apart."""
REREAD = 2048
"""The most tokens that are read at once, after `forget` or after rounds of other drafters: the work and its
memory grow with their square."""


class Reader:
    """One text on the host: tells whether there is anything to draft."""

    def __init__(self, text: Sequence[int]):
        self._one = dict(pairwise(text))
        self._two = dict(zip(pairwise(text), text[2:], strict=False))
        """What followed a token, and a pair."""
        self._count = len(text)
        self.known = self._count > 0 and text[-1] in self._one
        """Whether the last token occurred before."""
        self._offered = False
        """The same of the token before it: the host reads a round late, and there is a candidate then."""

    def read(self, text: Sequence[int]) -> list[bool]:
        """Read the new tokens. Returns, for those with a candidate, whether it would have predicted them."""
        right: list[bool] = []
        for at in range(max(2, self._count), len(text)):
            pair, token = (text[at - 2], text[at - 1]), text[at]
            if self._offered:
                right.append(self._two.get(pair, self._one.get(pair[1])) == token)
            self._two[pair] = self._one[pair[1]] = token
            self._offered, self.known = self.known, token in self._one
        self._count = len(text)
        return right


class RecyclingDrafter(Drafter):
    """Drafts from tables of tokens that followed before."""

    name = "recycling"

    def __init__(self) -> None:
        self._next = mx.zeros((0,), mx.int32)
        """`[vocab]`, what follows each token."""
        self._pairs = mx.zeros((PLACES, 2), mx.int32)
        """The first token of the pair at each place, and what follows the pair."""
        self._unread = 0
        """The most tokens that the texts gained since the last draft: the next one reads them."""
        self._readers: list[Reader] = []
        self._forgotten = False

    def attach(self, target: Model) -> None:
        self._next = mx.zeros((target.vocab,), mx.int32)

    def forget(self) -> None:
        self._next, self._pairs = mx.zeros_like(self._next), mx.zeros_like(self._pairs)
        self._forgotten = True

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        self._readers = [Reader(text) for text in texts]
        for text in texts if self._forgotten else ():
            read = mx.array(list(text[-REREAD:]), mx.int32)
            self._keep(read[:-2], read[1:-1], read[2:])
        self._forgotten = False

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return (CANDIDATE,) if any(reader.known for reader in self._readers) else ()

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        text = context.last(min(self._unread + 2, context.length.low, REREAD // len(context.tokens)))
        self._unread = 0
        self._keep(text[:, :-2], text[:, 1:-1], text[:, 2:])
        before, last = text[:, -2:-1], text[:, -1:]
        drafted = [last[:, :0]]
        for _ in range(depth):
            pair = self._pairs[_place(before, last)]
            known = pair[..., 0] == before
            before, last = last, mx.where(known, pair[..., 1], self._next[last])
            drafted.append(last)
        return Draft.chain(mx.concatenate(drafted, axis=1))

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        if verdict is None:
            self._keep(p.ids[:, :-2], p.ids[:, 1:-1], p.ids[:, 2:])
            return
        self._unread += p.ids.shape[1]
        if p.draft and (rows := p.draft.tokens.shape[1]):
            ids, best = p.ids[:, -rows - 1 :], mx.argmax(output.logits[:, -rows:], axis=-1)
            before = ids[:, :-1]
            if p.tree is not None:
                before = mx.take_along_axis(ids, p.tree.parents[:, 1:], axis=1)
            self._keep(before, ids[:, 1:], best.astype(mx.int32))

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        mx.async_eval(self._next, self._pairs)  # or the graph would grow while others draft
        pairs = zip(self._readers, texts, strict=True)
        return [(i, CANDIDATE, reader.read(text)) for i, (reader, text) in enumerate(pairs)]

    def _keep(self, before: mx.array, last: mx.array, follows: mx.array) -> None:
        """Store that `follows` came after `last` and after the pair `before`, `last`: `[b, n]` each."""
        before, last, follows = (x.reshape(-1) for x in (before, last, follows))
        if not last.size:
            return
        places = _place(before, last)
        self._pairs[places] = mx.stack([before, follows], axis=-1)[last_of_each(places)]
        self._next[last] = follows[last_of_each(last)]


def _place(before: mx.array, last: mx.array) -> mx.array:
    return (before * FACTOR + last) & (PLACES - 1)
