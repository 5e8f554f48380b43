"""Drafts all tokens in one pass, by a smaller model of the same vocabulary (PARD, An et al. 2025,
arXiv 2504.18583).

It was trained with masks: k - 1 of them follow the text, and the rows of the text's last token and of the
masks guess the next k tokens, independently of each other. The masks' rows in the cache are overwritten.
"""

import mlx.nn as nn

from mlx_spec.arrays import Draft
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.errors import UnsupportedModel
from mlx_spec.verify.batch import Proposer

LIMIT = 12
"""The authors' draft length."""


class PardDrafter(ModelDrafter):
    """A model that was trained with masks.

    Args:
        mask: id of the mask token.

    Raises:
        UnsupportedModel: the model has no such token, or its layers keep more than keys and values.
    """

    name = "pard"
    candidate = Candidate("pard", kind="pard", prior=0.5, limit=LIMIT)
    left = 0
    usual_lag = 1 + LIMIT
    reads_again = True  # its passes have masks in place of the drafted tokens

    def __init__(self, model: nn.Module, mask: int, context_limit: int | None = None):
        super().__init__(model, context_limit)
        if not 0 <= mask < self.cached.vocab:
            raise UnsupportedModel(
                f"The draft's mask is token {mask}, and it has {self.cached.vocab} tokens. Download it again."
            )
        if self.cached.recurrent:
            raise UnsupportedModel(
                "Its layers cannot be rewound to before its masks. Use another draft model."
            )
        self._mask = mask

    def _chain(self, context: Context, depth: int, verifier: Proposer) -> Draft:
        return self._masked(context, depth, verifier, self._mask)
