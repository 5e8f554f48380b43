"""Drafts by heads on the target's last hidden state (Medusa, Cai et al. 2024, arXiv 2401.10774).

Each head guesses one position, independently of the others, so a draft is one small pass over the last
accepted row of the target. Verified as every draft is, not by Medusa's typical acceptance, which changes the
text.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from heapq import heappop, heappush

import mlx.core as mx
from jaxtyping import Float

from mlx_spec.arrays import Draft, Length, best
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context
from mlx_spec.drafters.last_state import LastStateDrafter
from mlx_spec.drafters.medusa_head import MedusaHead
from mlx_spec.verify.batch import BatchVerifier, Proposer
from mlx_spec.verify.copies import Copying

RIGHT = (
    (0.50, 0.13, 0.06, 0.04, 0.03),
    (0.40, 0.12, 0.06, 0.04, 0.03),
    (0.33, 0.11, 0.06, 0.04, 0.03),
    (0.28, 0.10, 0.06, 0.04, 0.03),
)
"""By head: the assumed rates (docs/trees.md) at which its best, second, ... guess is right, given that those
before it are. They only give trees their shape; acceptance is measured."""


class MedusaDrafter(LastStateDrafter):
    """Heads that were made for the target."""

    name = "medusa"
    trees = True
    nodes = (7, 15)  # with the text's last token 8 and 16 rows

    def __init__(self, head: MedusaHead):
        self.head, self.taps = head, head.taps
        count = head.shape.heads
        self._chain = Candidate("medusa", kind="medusa", prior=0.5, limit=count, room=count)

    def candidates(self, length: Length) -> Sequence[Candidate]:
        if self._state is None:
            return ()
        branching = [replace(self._chain, kind=f"medusa, {n}", nodes=n) for n in self.nodes if self.trees]
        return [self._chain, *branching]

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        assert self._state is not None, "there is no candidate before a round was observed"
        logits = self.head.logits(self._state)[:, 0, :, : verifier.vocab]
        proposer = Copying(verifier, context.tokens, context.length)
        if context.nodes and depth:
            return _tree(logits, shape(context.nodes, depth), proposer)
        return proposer.at_once(logits[:, :depth])


Node = tuple[int, int, int]
"""(the row it follows, as in a draft; the head that guesses it; its rank among that head's guesses)."""


@cache
def shape(nodes: int, depth: int) -> tuple[Node, ...]:
    """The tree of `nodes` nodes, at most `depth` deep, with the most accepted tokens expected by `RIGHT`: the
    likeliest nodes, each after its parent.
    """
    found: list[Node] = []
    heap = [(-RIGHT[0][0], 0, 0, 0)]
    while heap and len(found) < nodes:
        likely, parent, level, rank = heappop(heap)  # negative: a heap gives the least
        found.append((parent, level, rank))
        rates, child_rates = (RIGHT[min(head, len(RIGHT) - 1)] for head in (level, level + 1))
        if rank + 1 < len(rates):
            heappush(heap, (likely / rates[rank] * rates[rank + 1], parent, level, rank + 1))
        if level + 1 < depth:
            heappush(heap, (likely * child_rates[0], len(found), level + 1, 0))
    return tuple(found)


def _tree(logits: Float[mx.array, "b heads vocab"], nodes: Sequence[Node], proposer: Proposer) -> Draft:
    depth = 1 + max(level for _, level, _ in nodes)
    first, ranked = mx.zeros((len(logits), 0), mx.int32), []
    for index in range(depth):
        ranked.append(best(proposer.scores(logits[:, index], index, first), len(RIGHT[0])))
        first = mx.concatenate([first, ranked[-1][:, :1]], axis=1)
    _, levels, ranks = zip(*nodes, strict=True)
    tokens = mx.stack(ranked, axis=1)[:, mx.array(levels), mx.array(ranks)]
    parents = mx.array([[parent for parent, _, _ in nodes]], mx.int32)
    return Draft(tokens, depth, mx.broadcast_to(parents, tokens.shape))
