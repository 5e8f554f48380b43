"""Drafts all tokens in one pass, by a head on the target's hidden states (P-EAGLE, arXiv 2602.01469).

It keeps the rows of the text's tokens, as an EAGLE head does; masked rows behind them are for one pass.
"""

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
        super().__init__(head)
        room = min(head.depth, MAX_DRAFT_LENGTH)
        self.candidate = Candidate("peagle", kind="peagle", prior=0.6, limit=room, room=room)
        self.usual_lag = 1 + room

    def _chain(self, context: Context, depth: int, verifier: Proposer) -> Draft:
        return self._masked(context, depth, verifier, self.head.mask)
