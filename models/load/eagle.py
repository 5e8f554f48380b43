"""Heads on a target's hidden states, laid out as SGLang's and SpecForge's EAGLE-3 checkpoints are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.nn as nn
from mlx_lm.models.llama import ModelArgs

from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.drafters.eagle_head import EagleHead, EagleShape
from models.load.heads import Config, Weights, load_head, save_head, size, take_tokens


def load_eagle(folder: Path, target: nn.Module, target_config: dict[str, Any]) -> EagleDrafter:
    """The head in a folder, for this target.

    Raises:
        BrokenFiles: something is missing in it.
        UnsupportedModel: it is of another target.
    """
    return EagleDrafter(load_head(folder, lambda config, weights: EagleHead(_shape(config, weights), target)))


def save_eagle(folder: Path, head: EagleHead, about: Mapping[str, Any], bits: int | None = None) -> None:
    """Write a head to an empty folder, with `about` in its config.

    Args:
        bits: of its matrices; None: float16.
    """
    shape = head.shape
    args = shape.args
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "model_type": "llama",
        "hidden_size": args.hidden_size,
        "intermediate_size": args.intermediate_size,
        "num_hidden_layers": 1,
        "num_attention_heads": args.num_attention_heads,
        "num_key_value_heads": args.num_key_value_heads,
        "head_dim": args.head_dim or args.hidden_size // args.num_attention_heads,
        "rms_norm_eps": args.rms_norm_eps,
        "rope_theta": args.rope_theta,
        "max_position_embeddings": args.max_position_embeddings,
        "vocab_size": args.vocab_size,
        "draft_vocab_size": len(shape.tokens),
        "target_hidden_size": shape.target_hidden,
        "fc_norm": shape.fc_norm,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": list(shape.taps)},
        **about,
    }
    save_head(folder, head, config, bits)


def _shape(config: Config, weights: Weights) -> EagleShape:
    args = ModelArgs(
        model_type="llama",
        hidden_size=size(config, "hidden_size"),
        num_hidden_layers=1,
        intermediate_size=size(config, "intermediate_size"),
        num_attention_heads=size(config, "num_attention_heads"),
        rms_norm_eps=config["rms_norm_eps"],
        vocab_size=size(config, "vocab_size"),
        head_dim=config.get("head_dim"),
        max_position_embeddings=config.get("max_position_embeddings"),
        num_key_value_heads=config.get("num_key_value_heads"),
        rope_theta=config.get("rope_theta", 10000),  # never the target's
        rope_scaling=config.get("rope_scaling"),
    )
    taps = config["eagle_config"]["eagle_aux_hidden_state_layer_ids"]
    if not isinstance(taps, list) or not all(type(layer) is int for layer in taps):
        raise ValueError(f"its eagle_aux_hidden_state_layer_ids are {taps!r}")
    return EagleShape(
        args,
        config.get("target_hidden_size", args.hidden_size),
        tuple(taps),
        take_tokens(weights, args.vocab_size),
        bool(config.get("fc_norm")),
    )
