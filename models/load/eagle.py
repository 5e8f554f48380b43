"""Heads on a target's hidden states, laid out as SGLang's and SpecForge's EAGLE-3 checkpoints are."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models.llama import ModelArgs
from mlx_lm.utils import dequantize_model

from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.drafters.eagle_head import EagleHead, EagleShape
from models.errors import BrokenFiles
from models.load.checkpoint import on_cpu
from models.pairs.folder import read_json

GROUP = 64
"""Weights that share a scale."""
WEIGHTS = "model.safetensors"


def load_eagle(folder: Path, target: nn.Module, target_config: dict[str, Any]) -> EagleDrafter:
    """The head in a folder, for this target.

    Raises:
        BrokenFiles: something is missing in it.
        UnsupportedModel: it is of another target.
    """
    config, as_float32 = read_json(folder / "config.json") or {}, on_cpu()
    weights: dict[str, mx.array] = mx.load(str(folder / WEIGHTS))  # type: ignore[assignment]
    try:
        offsets = weights.pop("d2t")
        weights.pop("t2d", None)
        head = EagleHead(_shape(config, offsets), target)
    except KeyError as error:
        raise BrokenFiles(f"The head in {folder} names no {error}. Train or fetch it again.") from error
    if as_float32:
        weights = _cast(weights, mx.float32)
    if quantization := config.get("quantization"):
        nn.quantize(head, quantization["group_size"], quantization["bits"],
                    class_predicate=lambda path, _: f"{path}.scales" in weights)  # fmt: skip
    try:
        head.load_weights(list(weights.items()))
    except ValueError as error:
        raise BrokenFiles(f"The head in {folder} does not match its config.json: {error}") from error
    if as_float32 and quantization:
        dequantize_model(head)
    mx.eval(head.parameters())
    return EagleDrafter(head)


def save_eagle(folder: Path, head: EagleHead, about: Mapping[str, Any], bits: int | None = None) -> None:
    """Write a head to an empty folder, with `about` in its config.

    Args:
        bits: of its matrices; None: float16.
    """
    shape, quantization = head.shape, {}
    if bits:
        nn.quantize(head, GROUP, bits, class_predicate=_is_divisible)
        quantization = {"quantization": {"group_size": GROUP, "bits": bits}}
    parameters: dict[str, mx.array] = dict(tree_flatten(head.parameters()))  # type: ignore[arg-type]
    weights = _cast(parameters, mx.float16)
    tokens, known = np.array(shape.tokens, np.int64), np.zeros(shape.args.vocab_size, np.bool_)
    known[tokens] = True
    weights["d2t"], weights["t2d"] = mx.array(tokens - np.arange(len(tokens))), mx.array(known.tolist())
    mx.save_safetensors(str(folder / WEIGHTS), weights, {"format": "mlx"})
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
        **quantization,
        **about,
    }
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def _is_divisible(_: str, layer: nn.Module) -> bool:
    return isinstance(layer, nn.Linear) and layer.weight.shape[-1] % GROUP == 0


def _shape(config: Mapping[str, Any], offsets: mx.array) -> EagleShape:
    args = ModelArgs(
        model_type="llama",
        hidden_size=config["hidden_size"],
        num_hidden_layers=1,
        intermediate_size=config["intermediate_size"],
        num_attention_heads=config["num_attention_heads"],
        rms_norm_eps=config["rms_norm_eps"],
        vocab_size=config["vocab_size"],
        head_dim=config.get("head_dim"),
        max_position_embeddings=config.get("max_position_embeddings"),
        num_key_value_heads=config.get("num_key_value_heads"),
        rope_theta=config.get("rope_theta", 10000),  # never the target's
        rope_scaling=config.get("rope_scaling"),
    )
    tokens: list[int] = (offsets + mx.arange(len(offsets))).tolist()  # type: ignore[assignment]
    taps = tuple(config["eagle_config"]["eagle_aux_hidden_state_layer_ids"])
    return EagleShape(
        args,
        config.get("target_hidden_size", args.hidden_size),
        taps,
        tuple(tokens),
        bool(config.get("fc_norm")),
    )


def _cast(weights: Mapping[str, mx.array], dtype: mx.Dtype) -> dict[str, mx.array]:
    """Those that are no packed or whole numbers."""
    return {k: x.astype(dtype) if mx.issubdtype(x.dtype, mx.floating) else x for k, x in weights.items()}
