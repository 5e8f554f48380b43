"""Loading P-EAGLE heads in speculators' format and the one vLLM reads: EAGLE-3's tensors and more."""

from typing import Any

from mlx_spec.drafters.peagle_head import PEagleHead
from models.load.eagle import head_shape, in_head
from models.load.heads import Config, Weights

_MASKS = ("mask_token_id", "ptd_token_id", "pard_token")
"""Config keys for the mask token."""
DEPTH = 8
"""Default draft length that heads are trained for (arXiv 2602.01469, speculators' default)."""


def peagle_head(config: Config, weights: Weights, target: Any) -> PEagleHead:
    """As `load_head` wants it."""
    for name in list(weights):
        weights[_in_head(name)] = weights.pop(name)
    weights["mask_hidden"] = weights["mask_hidden"].flatten()
    masks = [config[name] for name in _MASKS if type(config.get(name)) is int]
    if not masks:
        raise KeyError(_MASKS[0])
    shape = head_shape(config, weights, len(target.layers))
    return PEagleHead(shape, target, masks[0], _depth(config), embeds="embed_tokens.weight" in weights)


def _in_head(name: str) -> str:
    name = in_head(name)
    if not name.startswith("layers."):
        return name
    _, place, rest = name.split(".", 2)
    return f"deeper.{int(place) - 1}.{rest}"


def _depth(config: Config) -> int:
    proposals = (config.get("speculators_config") or {}).get("proposal_methods") or [{}]
    found = config.get("para_depths") or proposals[0].get("speculative_tokens")
    return found if type(found) is int and found > 0 else DEPTH
