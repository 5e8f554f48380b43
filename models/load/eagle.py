"""Loading and saving EAGLE-3 heads in the formats of SafeAILab, SGLang and SpecForge, speculators, DeepSpec.

The formats differ in tensor names, in how they count the target's layers, in norms, and in where config.json
has the layer's sizes. Heads trained here are saved in SGLang's format.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlx_lm.models.llama import ModelArgs

from mlx_spec import UnsupportedModel
from mlx_spec.drafters.eagle_head import EagleHead, EagleShape
from models.load.heads import Config, Weights, layer_args, layer_of, llama_shape, save_head, take_tokens

AUX = "eagle_aux_hidden_state_layer_ids"
FIRST = "layers.0."
"""The layer's prefix in files of speculators and DeepSpec; `midlayer.` in others."""


def save_eagle(folder: Path, head: EagleHead, about: Mapping[str, Any], bits: int | None = None) -> None:
    """Write a head to an empty folder, with `about` in its config.

    Args:
        bits: quantize its matrices to this many bits; None: float16.
    """
    shape = head.shape
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        **llama_shape(shape.args),
        "draft_vocab_size": len(shape.tokens),
        "target_hidden_size": shape.target_hidden,
        "fc_norm": shape.fc_norm,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": list(shape.taps)},
        **about,
    }
    save_head(folder, head, config, bits)


def eagle_head(config: Config, weights: Weights, target: Any) -> EagleHead:
    """As `load_head` wants it."""
    for name in list(weights):
        weights[in_head(name)] = weights.pop(name)
    weights.pop("embed_tokens.weight", None)  # a copy of the target's
    if config.get("embed_requires_grad"):
        raise UnsupportedModel("It has its own embeddings, which are not supported. Use another head.")
    shape = head_shape(config, weights, len(target.layers))
    if (count := shape.args.num_hidden_layers) != 1:
        raise UnsupportedModel(f"It has {count} layers; only heads of one are supported. Use another head.")
    return EagleHead(shape, target)


def in_head(name: str) -> str:
    """The head's name for a tensor of the file."""
    name = name.removeprefix("model.")
    return f"midlayer.{name.removeprefix(FIRST)}" if name.startswith(FIRST) else name


def head_shape(config: Config, weights: Weights, layers: int) -> EagleShape:
    """The shape of a head in any format, for a target with this many layers.

    Tensors decide before flags of the config.
    """
    inner = layer_of(config)
    if "sliding_attention" in (inner.get("layer_types") or ()):
        raise UnsupportedModel("Its layer has a sliding window, which is not supported. Use another head.")
    if (act := inner.get("hidden_act", "silu")) != "silu":
        raise UnsupportedModel(f"Its activation is {act}; only silu is supported. Use another head.")
    args = ModelArgs(**layer_args(inner, weights), model_type="llama")
    return EagleShape(
        args,
        config.get("target_hidden_size") or args.hidden_size,
        _taps(config, layers),
        take_tokens(weights, args.vocab_size, len(weights["lm_head.weight"])),
        "fc_norm.0.weight" in weights,
        "input_norm.weight" in weights,
        bool(config.get("norm_before_residual")),
        bool(config.get("norm_output")),
        "midlayer.self_attn.q_norm.weight" in weights,
    )


def _taps(config: Config, layers: int) -> tuple[int, ...]:
    """Layers of the target whose outputs are read.

    SGLang, SpecForge and DeepSpec name a state by the layer it is the output of; SafeAILab, speculators and
    vLLM, which read the ids outside `eagle_config`, by the layer it is the input of: their layer j is the
    output of layer j - 1. An empty list names none.
    """
    nested = config.get("eagle_config") or {}
    entering = [2, layers // 2, layers - 3]  # SafeAILab's default, and that of formats that name none
    if config.get("target_layer_ids"):
        key, found, shift = "target_layer_ids", config["target_layer_ids"], 0
    elif AUX in nested and nested[AUX]:
        key, found, shift = AUX, nested[AUX], 0
    else:
        key, found, shift = AUX, config.get(AUX) or entering, 1
    if not isinstance(found, list) or not all(type(layer) is int for layer in found):
        raise ValueError(f"its {key} are {found!r}")
    return tuple(layer - shift for layer in found)
