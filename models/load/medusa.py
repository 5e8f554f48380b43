"""Loading and saving Medusa heads, in FasterDecoding's or vLLM's format.

There each head has its own output rows for the target's whole vocabulary, or in vLLM's format for the tokens
of a `token_map`. Heads trained here share one `lm_head` over the vocabulary in `d2t`, as EAGLE-3 heads do.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.drafters.medusa_head import MedusaHead, MedusaShape
from models.load.heads import Config, Weights, save_head, take_tokens

OWN = "heads."
"""Prefix of a head's number that files omit."""


def save_medusa(folder: Path, head: MedusaHead, about: Mapping[str, Any], bits: int | None = None) -> None:
    """Write heads to an empty folder, with `about` in its config.

    Args:
        bits: quantize their matrices to this many bits; None: float16.
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
    save_head(folder, head, config, bits, OWN)


def medusa_head(config: Config, weights: Weights, target: nn.Module) -> MedusaHead:
    """As `load_head` wants it."""
    if any(name.startswith("blocks.") for name in weights):
        _from_vllm(weights)
    shape = _shape(config, weights)
    for name in [name for name in weights if name[0].isdigit()]:
        weights[OWN + name] = weights.pop(name)
    return MedusaHead(shape, target)


def _from_vllm(weights: Weights) -> None:
    """Rename the tensors to FasterDecoding's names, in place; a missing bias becomes zeros."""
    layers = 1 + max(int(name.split(".")[3]) for name in weights if name.startswith("blocks."))
    for name in list(weights):
        part, _, rest = name.removeprefix("medusa_heads.").partition(".")
        if part == "blocks":
            head, _, layer, kind = rest.split(".")
            weights[f"{head}.{layer}.linear.{kind}"] = x = weights.pop(name)
            weights.setdefault(f"{head}.{layer}.linear.bias", mx.zeros(len(x), x.dtype))
        elif part == "lm_heads":
            weights[f"{rest.split('.')[0]}.{layers}.weight"] = weights.pop(name)
    if (tokens := weights.pop("token_map", None)) is not None:
        order = mx.argsort(tokens)
        for name in [name for name in weights if name.endswith(f".{layers}.weight")]:
            whole = len(weights[name]) > len(tokens)
            weights[name] = weights[name][tokens[order] if whole else order]
        weights["d2t"] = tokens[order] - mx.arange(len(tokens))


def _shape(config: Config, weights: Weights) -> MedusaShape:
    """Heads are counted in the tensors: published configs name 2 of 5 (says FasterDecoding's code)."""
    linear = [name.split(".") for name in weights if ".linear.weight" in name]
    heads, layers = (1 + max((int(part[i]) for part in linear), default=0) for i in (0, 1))
    hidden = len(weights["0.0.linear.bias"])
    shared = "lm_head.weight" in weights
    rows = len(weights["lm_head.weight" if shared else f"0.{layers}.weight"])
    vocab = config.get("vocab_size", rows)
    return MedusaShape(heads, layers, hidden, vocab, take_tokens(weights, vocab, rows), shared)
