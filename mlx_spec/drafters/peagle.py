"""Drafts all tokens in one pass, by a head on the target's hidden states (P-EAGLE, arXiv 2602.01469).

It keeps the rows of the text's tokens, as an EAGLE head does; masked rows behind them are for one pass.
"""

from dataclasses import replace

import mlx.core as mx

from mlx_spec.arrays import Draft
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context
from mlx_spec.drafters.features import FeatureDrafter
from mlx_spec.drafters.peagle_head import PEagleHead
from mlx_spec.types import MAX_DRAFT_LENGTH
from mlx_spec.verify.batch import Proposer


class PEagleDrafter(FeatureDrafter):
    """A head that was made for the target."""

    name = "peagle"

    def __init__(self, head: PEagleHead):
        super().__init__(head, head.taps, head.width)
        room = min(head.depth, MAX_DRAFT_LENGTH)
        self.candidate = Candidate("peagle", kind="peagle", prior=0.6, limit=room, room=room)
        self.usual_lag = 1 + room

    def _chain(self, context: Context, depth: int, verifier: Proposer) -> Draft:
        p = self._first(context)
        masks = mx.full((len(p.ids), depth - 1), self.head.mask, mx.int32)
        output = self._step(replace(p, ids=mx.concatenate([p.ids, masks], axis=1)))
        self._set_lag(self.left)
        return verifier.at_once(self._logits(output, slice(-depth, None))[:, :, : verifier.vocab])
