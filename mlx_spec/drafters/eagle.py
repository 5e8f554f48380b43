"""Drafts by a head on the target's hidden states (EAGLE-3, Li et al. 2025, arXiv 2503.01840).

Its row t reads the token after position t and the target's features of position t, kept from every pass.
Accepted tokens are read again, then with the target's features.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import isqrt

import mlx.core as mx

from mlx_spec.arrays import Draft, Length, Output, Pass, Tree, take_rows
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context
from mlx_spec.drafters.eagle_head import EagleHead
from mlx_spec.drafters.features import FeatureDrafter
from mlx_spec.drafters.growing import Growth
from mlx_spec.drafters.mtp_head import MtpHead
from mlx_spec.verify.batch import Proposer

LIMIT = 7
"""Heads are trained a few steps deep: reading their own rows, they become less accurate."""
WEIGHT = 5.0
"""Of its prior. Heads differ less than draft models do: 0.4 to 0.8 of their first tokens are accepted."""


class EagleDrafter(FeatureDrafter):
    """A head that was made for the target."""

    name = "eagle"
    candidate = Candidate("eagle", kind="eagle", prior=0.6, limit=LIMIT, weight=WEIGHT)
    usual_lag = 1 + LIMIT
    trees = True
    nodes = (7, 15)  # with the text's last token 8 and 16 rows

    def __init__(self, head: EagleHead | MtpHead):
        super().__init__(head)
        self.cached.allow_trees()

    def candidates(self, length: Length) -> Sequence[Candidate]:
        [c] = chain = super().candidates(length)
        if not (self.trees and self.cached.trees):
            return chain
        rooms = {n: min(n, c.room) for n in self.nodes}
        trees = (replace(c, kind=f"{c.kind}, {n}", nodes=n, room=k, shadows=0) for n, k in rooms.items())
        return [*chain, *trees]

    def _chain(self, context: Context, depth: int, verifier: Proposer) -> Draft:
        draft = self._tree if context.nodes else super()._chain
        return draft(context, depth, verifier)

    def _next(self, p: Pass, ids: mx.array, output: Output) -> Pass:
        return replace(super()._next(p, ids, output), hidden=output.logits[:, -1:])

    def _tree(self, context: Context, depth: int, verifier: Proposer) -> Draft:
        """Each level is a pass over the whole tree so far, behind the text's rows."""
        width = _width(context.nodes)
        p = self._first(context)
        begin = p.start.plus(p.ids.shape[1] - 1)
        token, feature = p.ids[:, -1:], take_rows(self._features, begin.value, 1)
        states = self._step(p).logits[:, -1:]
        nothing = mx.zeros((len(states), 1, 0), mx.int32)
        growth = Growth.first(self._logprobs(states, nothing, verifier)[:, 0], width)
        hidden = mx.broadcast_to(states, (len(states), width, states.shape[2]))
        while growth.depth < depth:
            tree = growth.whole()
            rows = mx.concatenate([feature, hidden], axis=1)
            ids = mx.concatenate([token, tree.tokens], axis=1)
            last = self.cached.decode(Pass(ids, begin, tree=Tree.of(tree), hidden=rows)).logits[:, -width:]
            growth, on = growth.next(self._logprobs(last, growth.paths, verifier))
            places = mx.broadcast_to(on[:, :, None], last.shape)
            hidden = mx.concatenate([hidden, mx.take_along_axis(last, places, axis=1)], axis=1)
        return growth.likeliest(context.nodes)

    def _logprobs(self, states: mx.array, paths: mx.array, verifier: Proposer) -> mx.array:
        """Log probability of each token to be the target's choice after each row: `[b, rows, vocab]`.

        Above temperature 0 it includes the noise that the choice is made with.
        """
        logits = self.head.logits(states)
        scores = [verifier.scores(logits[:, i], paths.shape[2], paths[:, i]) for i in range(states.shape[1])]
        together = mx.stack(scores, axis=1)
        return together - mx.logsumexp(together, axis=-1, keepdims=True)


def _width(nodes: int) -> int:
    """Nodes of a level."""
    return isqrt(nodes) + 1
