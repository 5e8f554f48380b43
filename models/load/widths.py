"""What of a target's config.json decides how its passes are computed (mlx_spec/policy/kernels.py)."""

from collections.abc import Mapping
from typing import Any

from mlx_spec.policy.kernels import TargetShape


def target_shape(config: Mapping[str, Any]) -> TargetShape | None:
    """The shape a configuration tells; None where it names no attention heads."""
    text = {**config, **config.get("text_config", {})}
    try:
        heads, hidden = int(text["num_attention_heads"]), int(text["hidden_size"])
        groups = int(text.get("num_key_value_heads") or heads)
        inner = int(text.get("intermediate_size") or hidden)
    except (KeyError, TypeError, ValueError):
        return None
    if not 0 < groups <= heads:
        return None
    quantization = config.get("quantization") or {}
    mode = str(quantization.get("mode", "affine")) if quantization else None
    return TargetShape(heads // groups, ((hidden, hidden), (hidden, inner)), mode)
