"""Medusa heads on disk, laid out as FasterDecoding's checkpoints are.

Those have output rows for each head and the target's whole vocabulary; what is trained here has `lm_head` for
all of them, of the vocabulary that `d2t` tells, as EAGLE-3 checkpoints do.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.nn as nn

from mlx_spec.drafters.medusa import MedusaDrafter
from mlx_spec.drafters.medusa_head import MedusaHead, MedusaShape
from models.load.heads import Config, Weights, load_head, save_head, take_tokens

OWN = "heads."
"""What the file leaves out before the number of a head."""


def load_medusa(folder: Path, target: nn.Module, target_config: dict[str, Any]) -> MedusaDrafter:
    """The heads in a folder, for this target.

    Raises:
        BrokenFiles: something is missing in it.
        UnsupportedModel: they are of another target, or the target's last norm cannot be found.
    """
    return MedusaDrafter(
        load_head(folder, lambda config, weights: MedusaHead(_shape(config, weights), target), _in_head)
    )


def save_medusa(folder: Path, head: MedusaHead, about: Mapping[str, Any], bits: int | None = None) -> None:
    """Write heads to an empty folder, with `about` in its config.

    Args:
        bits: of their matrices; None: float16.
    """
    shape = head.shape
    config = {
        "model_type": "medusa",
        "medusa_num_heads": shape.heads,
        "medusa_num_layers": shape.layers,
        "hidden_size": shape.hidden,
        "vocab_size": shape.vocab,
        **about,
    }
    save_head(folder, head, config, bits, lambda name: name.removeprefix(OWN))


def _in_head(name: str) -> str:
    return OWN + name if name[0].isdigit() else name


def _shape(config: Config, weights: Weights) -> MedusaShape:
    heads, layers = config["medusa_num_heads"], config["medusa_num_layers"]
    hidden = len(weights["0.0.linear.bias"])
    shared = "lm_head.weight" in weights
    rows = len(weights["lm_head.weight" if shared else f"0.{layers}.weight"])
    vocab = config.get("vocab_size", rows)
    known = take_tokens(weights, vocab) if "d2t" in weights or rows != vocab else tuple(range(vocab))
    return MedusaShape(heads, layers, hidden, vocab, known, shared)
