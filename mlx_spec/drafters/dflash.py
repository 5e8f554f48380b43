"""Drafts a block of tokens in one pass, by a head on the target's hidden states (DFlash, DFlash2, DSpark).

DFlash: Chen et al. 2026, arXiv 2602.06036. Verified as every draft is.
"""

from dataclasses import replace

import mlx.core as mx

from mlx_spec.arrays import Draft, Output
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context
from mlx_spec.drafters.dflash_head import DFlashHead
from mlx_spec.drafters.features import FeatureDrafter
from mlx_spec.types import MAX_DRAFT_LENGTH
from mlx_spec.verify.batch import Chain, Proposer


class DFlashDrafter(FeatureDrafter):
    """A head that was made for the target.

    Args:
        name: `dflash`, `dflash2` or, for heads of DeepSpec's recipe, `dspark`.
    """

    def __init__(self, head: DFlashHead, name: str):
        super().__init__(head)
        room = min(head.shape.room, MAX_DRAFT_LENGTH)
        self.name, self.candidate = name, Candidate(name, name, prior=0.6, limit=room, room=room)
        self.usual_lag = 1 + room

    def _chain(self, context: Context, depth: int, verifier: Proposer) -> Draft:
        p, shape = self._first(context), self.head.shape
        anchor = p.ids[:, -1:]
        masks = mx.full((len(anchor), depth - shape.from_anchor), shape.mask, mx.int32)
        output = self._step(replace(p, ids=mx.concatenate([p.ids, anchor, masks], axis=1)))
        guesses = self._logits(output, slice(-depth, None))
        if not self.head.chains:
            return verifier.at_once(self.head.spread(guesses)[:, :, : verifier.vocab])
        return self._walk(anchor[:, 0], guesses, output.logits[:, -depth:], verifier)

    def _walk(self, before: mx.array, guesses: mx.array, states: mx.array, verifier: Proposer) -> Draft:
        """Choose token by token: each changes the guesses of the next."""
        chain = Chain(verifier, len(before))
        for index in range(guesses.shape[1]):
            logits = self.head.spread(self.head.after(before, guesses[:, index], states[:, index]))
            before = chain.add(logits[:, : verifier.vocab])[:, 0]
        return chain.draft

    @property
    def _shadows(self) -> int:
        return 0  # rows of the text guess nothing

    def _logits(self, output: Output, rows: slice) -> mx.array:
        return self.head.guesses(output.logits[:, rows])
