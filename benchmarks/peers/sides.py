"""Who is compared: a process, and what it is asked to do there."""

from collections.abc import Sequence
from dataclasses import dataclass

OUR_LENGTHS = range(1, 16)
MLX_LM_LENGTHS = range(1, 7)
OTHER_DRAFT = "other draft"
"""The process with a draft that was trained on other text."""


@dataclass(frozen=True, slots=True)
class Side:
    """One way to answer."""

    name: str
    process: str
    way: str
    length: int | None = None
    categories: tuple[str, ...] | None = None
    """Where it is measured; None: everywhere."""


SEARCHED_OURS = (
    Side("ours plain", "ours fixed", "none", 0),
    *(Side(f"ours {way} {k}", "ours fixed", way, k) for way in ("model", "auto") for k in OUR_LENGTHS),
)
"""Every fixed length, with the draft model alone and with lookup beside it."""
SEARCHED_MLX_LM = tuple(Side(f"mlx-lm {k}", "mlx-lm speculative", "speculative", k) for k in MLX_LM_LENGTHS)

COMPARED = (
    Side("ours auto", "ours auto", "auto"),
    Side("ours plain", "ours fixed", "none", 0),
    Side("ours 3", "ours fixed", "model", 3),
    Side("mlx-lm plain", "mlx-lm plain", "plain"),
    Side("mlx-lm 2", "mlx-lm speculative", "speculative", 2),
    Side("mlx-lm 3", "mlx-lm speculative", "speculative", 3),
    Side("transformers plain", "transformers", "plain"),
    Side("transformers assistant", "transformers", "assistant"),
    Side("transformers lookup", "transformers", "lookup"),
    Side("ours auto, other draft", OTHER_DRAFT, "auto", None, ("chat", "code")),
    Side("ours 3, other draft", OTHER_DRAFT, "model", 3, ("chat", "code")),
)
"""Beside these stand the best of each search, as `ours best` and `mlx-lm best`, both by category
and temperature, and `mlx-lm best of all`: one length for all prompts, as mlx-lm is given one."""


def available(sides: Sequence[Side], processes: Sequence[str]) -> list[Side]:
    """Those whose process there is."""
    return [side for side in sides if side.process in processes]
