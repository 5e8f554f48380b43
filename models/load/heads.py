"""Loading and saving heads on the target's hidden states: config.json, weights, and their vocabulary."""

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.models.llama import ModelArgs
from mlx_lm.models.switch_layers import SwitchLinear
from mlx_lm.utils import dequantize_model, infer_quant_config

from mlx_spec.drafters.head import Head
from models.errors import BrokenFiles
from models.load.checkpoint import on_cpu
from models.load.configuration import rope_settings
from models.pairs.drafter_kinds import Config
from models.pairs.folder import read_config, weight_files
from models.pairs.original_mtp import WEIGHTS

GROUP = 64
"""Weights that share a scale."""
LAYER_SIZES = ("hidden_size", "num_hidden_layers", "intermediate_size", "num_attention_heads", "vocab_size")
"""Sizes of its layers that a head's config.json must name."""
SPECULATORS = "speculators_model_type"
"""A key that only configs of speculators have."""

_FINE = "e_score_correction_bias"
"""Float32 in every model, as in mlx-lm's conversions."""
_OF_STATES = ("fc", "pre_projection")
"""Layers that read the target's hidden states."""

Weights = dict[str, mx.array]
H = TypeVar("H", bound=Head)


def load_head(
    folder: Path,
    target: nn.Module,
    target_config: Config,
    make: Callable[[Config, Weights, Any], H],
) -> H:
    """Load the head in a folder for this target, quantized as in its file, else as its target.

    Args:
        make: builds the head from its config and weights, for the target. It names the weights as in the
            head, and removes those that are not the head's. A KeyError is a missing setting or tensor, a
            TypeError or ValueError a damaged one.
        target_config: its `quantization` is the target's.

    Raises:
        BrokenFiles: a file, setting or tensor is missing or damaged.
        UnsupportedModel: the head was made for another target, or has parts that are not supported.
    """
    config = read_config(folder)
    weights: Weights = {}
    for file in weight_files(folder):
        weights |= mx.load(str(file))  # type: ignore[operator]
    try:
        head = make(config, weights, target)
    except KeyError as error:
        raise BrokenFiles(f"The head in {folder} names no {error}. Train or download it again.") from error
    except (TypeError, ValueError) as error:
        raise BrokenFiles(f"The head in {folder} is damaged: {error}. Train or download it again.") from error
    # Of another type than the target's states, both would become float32 in every step.
    weights = _cast(weights, head.dtype)
    for path, layer in head.named_modules():
        if isinstance(layer, nn.Linear) and f"{path}.bias" in weights:
            layer.bias = mx.zeros(len(layer.weight))  # configs do not tell which layers have one
    if quantized := any(name.endswith(".scales") for name in weights):
        nn.quantize(head, class_predicate=lambda path, layer: f"{path}.scales" in weights
                    and infer_quant_config(path, layer, weights))  # fmt: skip
    try:
        head.load_weights(list(weights.items()))
    except ValueError as error:
        raise BrokenFiles(f"The head in {folder} does not match its config.json: {error}") from error
    if on_cpu() and quantized:
        dequantize_model(head)
    elif not on_cpu() and not quantized:
        quantize_head(head, target_config.get("quantization"))
    mx.eval(head.parameters())
    return head


def save_head(folder: Path, head: Head, config: Config, bits: int | None, prefix: str = "") -> None:
    """Write a head to an empty folder.

    Args:
        bits: quantize its matrices to this many bits, in place; None: float16.
        prefix: of tensors' names in the head, left out in the file.
    """
    quantization = quantize(head, bits, nn.Linear)
    parameters: Weights = {k.removeprefix(prefix): x for k, x in tree_flatten(head.parameters())}  # type: ignore[misc]
    tokens, known = np.array(head.tokens, np.int64), np.zeros(head.vocab, np.bool_)
    known[tokens] = True
    offsets = {"d2t": mx.array(tokens - np.arange(len(tokens))), "t2d": mx.array(known.tolist())}
    mx.save_safetensors(str(folder / WEIGHTS), _cast(parameters, mx.float16) | offsets, {"format": "mlx"})
    (folder / "config.json").write_text(json.dumps({**quantization, **config}, indent=1) + "\n")


def quantize(module: nn.Module, bits: int | None, kinds: Any) -> dict[str, Any]:
    """Quantize the layers of these kinds in place, whose rows are whole groups; returns the entry of
    config.json. None: nothing is changed."""
    if not bits:
        return {}

    def is_divisible(_: str, layer: Any) -> bool:
        return isinstance(layer, kinds) and layer.weight.shape[-1] % GROUP == 0

    nn.quantize(module, GROUP, bits, class_predicate=is_divisible)
    return {"quantization": {"group_size": GROUP, "bits": bits}}


def quantize_head(head: nn.Module, quantization: Any) -> None:
    """Quantize in place, except layers that read the target's states, whose numbers vary widely in size."""
    if isinstance(quantization, Mapping) and quantization.get("mode", "affine") == "affine":
        group, bits = quantization.get("group_size", GROUP), quantization["bits"]

        def packed(path: str, layer: nn.Module) -> bool:
            own = path not in _OF_STATES and not path.startswith("_")  # _: the target's modules
            return own and isinstance(layer, nn.Linear | SwitchLinear) and layer.weight.shape[-1] % group == 0

        nn.quantize(head, group, bits, class_predicate=packed)


def take_tokens(weights: Weights, vocab: int, rows: int) -> tuple[int, ...]:
    """The target's id of each token of the head's vocabulary, removed from its weights (`d2t`); without it
    all `vocab` tokens, if the head has as many output rows.

    Raises:
        KeyError: `d2t` is missing.
        ValueError: `d2t` names an unknown token, or the ids do not ascend.
    """
    weights.pop("t2d", None)
    if "d2t" not in weights and rows == vocab:
        return tuple(range(vocab))
    offsets = weights.pop("d2t")
    if offsets.ndim != 1 or not mx.issubdtype(offsets.dtype, mx.integer):
        raise ValueError("its d2t is not a list of whole numbers")
    tokens: list[int] = (offsets + mx.arange(len(offsets))).tolist()  # type: ignore[assignment]
    if odd := [token for token in tokens if not 0 <= token < vocab]:
        raise ValueError(f"its d2t names token {odd[0]}, and the target has {vocab} tokens")
    if late := [b for a, b in pairwise(tokens) if b <= a]:
        raise ValueError(f"its d2t is not ascending at token {late[0]}")
    return tuple(tokens)


def layer_of(config: Config) -> Config:
    """The config of a head's layers; speculators omits the architecture's defaults."""
    if SPECULATORS not in config:
        return config
    from transformers import AutoConfig

    inner = config["transformer_layer_config"]
    # The default of layer_types counts the layers of a whole model.
    return AutoConfig.for_model(inner["model_type"]).to_dict() | {"layer_types": None} | inner


def text_model(target: Any) -> Any:
    """The part of a target that reads text: mlx-lm wraps it in some types."""
    return getattr(target, "language_model", target)


def llama_shape(args: ModelArgs) -> dict[str, Any]:
    """The entries of config.json for these arguments."""
    names = ("model_type", "hidden_size", "num_hidden_layers", "intermediate_size", "num_attention_heads",
             "num_key_value_heads", "head_dim", "rms_norm_eps", "vocab_size", "max_position_embeddings",
             "rope_theta")  # fmt: skip
    return {name: getattr(args, name) for name in names}


def layer_args(config: Config, weights: Weights) -> dict[str, Any]:
    """mlx-lm's arguments of a head's layers. RoPE is the head's own, never the target's."""
    config = {"num_hidden_layers": 1, **config, **rope_settings(config)}
    named = {name: size(config, name) for name in LAYER_SIZES}
    heads, layers = named["num_attention_heads"], named["num_hidden_layers"]
    if layers > len(weights):  # building them would take hours
        raise ValueError(f"its num_hidden_layers is {layers}, and it has {len(weights)} tensors")
    return {
        **named,
        "rms_norm_eps": config["rms_norm_eps"],
        "num_key_value_heads": config.get("num_key_value_heads") or heads,
        "head_dim": config.get("head_dim") or named["hidden_size"] // heads,
        "max_position_embeddings": config.get("max_position_embeddings"),
        "rope_theta": number(config, "rope_theta") or 10000.0,
        "rope_scaling": config.get("rope_scaling"),
    }


def size(config: Config, name: str, least: int = 1) -> int:
    """An integer; KeyError if it is missing, ValueError if it is anything else, or less than `least`."""
    if type(value := config[name]) is not int or value < least:
        raise ValueError(f"its {name} is {value!r}")
    return value


def number(config: Config, name: str) -> float | None:
    """A positive number, if any; ValueError if it is anything else."""
    value = config.get(name)
    if value is not None and (type(value) not in (int, float) or not value > 0):
        raise ValueError(f"its {name} is {value!r}")
    return value


def _cast(weights: Weights, dtype: mx.Dtype) -> Weights:
    """Cast the floating-point tensors; packed weights, ids and the fine biases of experts stay."""
    kept = {k for k, x in weights.items() if k.endswith(_FINE) or not mx.issubdtype(x.dtype, mx.floating)}
    return {k: x if k in kept else x.astype(dtype) for k, x in weights.items()}
