"""The compared sides: a process and a decoding method."""

from dataclasses import dataclass

OUR_LENGTHS = range(1, 16)
MLX_LM_LENGTHS = range(1, 7)
OTHER_DRAFT = "other draft"
"""The process with a draft that was trained on unrelated text."""


@dataclass(frozen=True, slots=True)
class Side:
    name: str
    process: str
    way: str
    length: int | None = None
    categories: tuple[str, ...] | None = None
    """The categories it is measured on; None: all."""


SEARCHED_OURS = (
    Side("ours plain", "ours fixed", "none", 0),
    *(Side(f"ours {way} {k}", "ours fixed", way, k) for way in ("model", "auto") for k in OUR_LENGTHS),
)
"""Every fixed draft length, with the draft model alone and with all drafters."""
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
"""The search adds `ours best` and `mlx-lm best`, the best length by category and temperature, and
`mlx-lm best of all`, the best length for all prompts of a temperature: mlx-lm takes only one."""
