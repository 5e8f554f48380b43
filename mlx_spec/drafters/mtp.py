"""Drafts by the target's own layer for multi-token prediction (Qwen3.5, GLM-4.5, DeepSeek-V3).

Later steps read its own rows, as an EAGLE head's do.
"""

from mlx_spec.candidate import Candidate
from mlx_spec.drafters.eagle import LIMIT, EagleDrafter


class MtpDrafter(EagleDrafter):
    """A layer that belongs to the target."""

    name = "mtp"
    candidate = Candidate("mtp", kind="mtp", prior=0.7, limit=LIMIT)
