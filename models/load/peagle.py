"""Loading P-EAGLE heads in speculators' format and the one vLLM reads: EAGLE-3's tensors and more."""

from pathlib import Path
from typing import Any

import mlx.nn as nn

from mlx_spec.drafters.peagle import PEagleDrafter
from mlx_spec.drafters.peagle_head import PEagleHead
from models.load.eagle import head_shape, in_head
from models.load.heads import Config, Weights, load_head
from models.pairs.folder import read_json

_MASKS = ("mask_token_id", "ptd_token_id", "pard_token")
"""Config keys for the mask token."""
DEPTH = 8
"""Default draft length that heads are trained for (arXiv 2602.01469, speculators' default)."""


def load_peagle(folder: Path, target: nn.Module, target_config: dict[str, Any]) -> PEagleDrafter:
    """Load the head in a folder for this target; raises as `load_head`."""
    head = load_head(folder, target, target_config, _head)
    return PEagleDrafter(head, _depth(read_json(folder / "config.json") or {}))


def _head(config: Config, weights: Weights, target: Any) -> PEagleHead:
    for name in list(weights):
        weights[_in_head(name)] = weights.pop(name)
    weights["mask_hidden"] = weights["mask_hidden"].flatten()
    masks = [config[name] for name in _MASKS if type(config.get(name)) is int]
    if not masks:
        raise KeyError(_MASKS[0])
    shape = head_shape(config, weights, len(target.layers))
    return PEagleHead(shape, target, masks[0], embeds="embed_tokens.weight" in weights)


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
