"""Loading DFlash, DFlash2 and DSpark heads in the formats of z-lab, SpecForge, DeepSpec and speculators.

DeepSpec's heads for Gemma 4 have Gemma layers, with the sizes of its full-attention layers.
"""

from collections.abc import Mapping
from typing import Any

from mlx_lm.models.qwen3 import ModelArgs

from mlx_spec import UnsupportedModel
from mlx_spec.drafters.dflash_head import DFlashHead, DFlashShape
from mlx_spec.drafters.gemma_block import GemmaBlockLayer
from models.load.heads import SPECULATORS, Config, Weights, layer_args, layer_of, number, size, take_tokens
from models.pairs.drafter_kinds import DSPARK, config_kind

CODEBOOK = "candidate_selector.predecessor_codebook.weight"
"""Published without `.weight`."""
GEMMA = "Gemma4DSparkModel"
UNUSED = ("confidence_head.", "embed_tokens.", "verifier_")
"""Tensors that are not needed: a predicted draft length, which the controller learns; copies of the
target's."""


def dflash_head(config: Config, weights: Weights, target: Any) -> DFlashHead:
    """As `load_head` wants it."""
    for name in list(weights):
        own = name.removeprefix("model.")
        weights[f"{own}.weight" if own.endswith("_codebook") else own] = weights.pop(name)
    for name in [name for name in weights if name.startswith(UNUSED)]:
        del weights[name]
    if "d2t" not in weights:
        weights.pop("lm_head.weight", None)  # a copy of the target's
    if GEMMA not in (config.get("architectures") or ()):
        return DFlashHead(_shape(config, weights, len(target.layers)), target)
    own_values = "layers.0.self_attn.v_proj.weight" in weights
    rope = config["rope_parameters"]["full_attention"]
    number(rope, "rope_theta")  # or the first draft fails
    wide = {"head_dim": size(config, "global_head_dim")}
    if not own_values:
        wide["num_key_value_heads"] = size(config, "num_global_key_value_heads")
    shape = _shape({**config, **wide}, weights, len(target.layers))
    return DFlashHead(shape, target, lambda shape: GemmaBlockLayer(shape.args, rope, own_values))


def _shape(config: Config, weights: Weights, layers: int) -> DFlashShape:
    inner, own = layer_of(config), config.get("dflash_config") or {}
    flat = {**config, **own}
    projector, markov = flat.get("projector_type", "dflash"), weights.get("markov_head.markov_w1.weight")
    rank = int(flat.get("markov_rank") or 0) if markov is None else markov.shape[1]
    if projector not in ("dflash", "dspark"):
        raise UnsupportedModel(f"Its projector of the type {projector} is not supported. Use another head.")
    if rank and (kind := flat.get("markov_head_type", "vanilla")) != "vanilla":
        raise UnsupportedModel(f"Its markov_head of the type {kind} is not supported. Use another head.")
    args = ModelArgs(**layer_args(inner, weights), model_type="qwen3", tie_word_embeddings=False)
    windows, causal = _kinds(inner, flat, args.num_hidden_layers)
    return DFlashShape(
        args,
        _taps(config, flat, args.num_hidden_layers, layers),
        take_tokens(weights, args.vocab_size, args.vocab_size),
        size(flat, "mask_token_id", 0),
        size(flat, "block_size"),
        windows,
        causal,
        _from_anchor(config, flat),
        rank,
        *_dflash2(flat, weights),
        "lm_head.weight" in weights,
        float(flat.get("output_multiplier", 1.0)),
        number(flat, "final_logit_softcapping"),
        float(flat.get("input_embedding_scale", 1.0)),
        SPECULATORS in config,
        flat.get("rope_is_neox_style") is False,
    )


def _from_anchor(config: Config, flat: Config) -> bool:
    """Whether the row of the text's last token guesses too. Where no key says so: in DSpark heads; of those
    of speculators, which named it later, in the ones that draft as many tokens as their block has rows.
    """
    if (named := flat.get("sample_from_anchor", flat.get("shift_label"))) is not None:
        return bool(named)
    if config_kind(config) != DSPARK or SPECULATORS not in config:
        return config_kind(config) == DSPARK
    made = config.get("speculators_config")
    methods = made.get("proposal_methods") if isinstance(made, Mapping) else None
    first = methods[0] if isinstance(methods, list) and methods else None
    return isinstance(first, Mapping) and first.get("speculative_tokens") == flat.get("block_size")


def _dflash2(flat: Config, weights: Weights) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """DFlash2's convolutions (kernel size, group size) and selector (rank, top k); None for other heads."""
    if CODEBOOK not in weights:
        return None, None
    kernel = size(flat, "conv_kernel_size"), size(flat, "conv_group_size")
    return kernel, (weights[CODEBOOK].shape[1], size(flat, "selector_top_k"))


def _kinds(inner: Config, flat: Config, count: int) -> tuple[tuple[int | None, ...], tuple[bool, ...]]:
    """By layer, its attention window and whether its block is causal. By default layers with a window are
    causal, and others are not (z-lab's torch and MLX code, and speculators').
    """
    types = inner.get("layer_types") or ["full_attention"] * count
    if len(types) != count or set(types) - {"full_attention", "sliding_attention"}:
        raise ValueError(f"its layer_types are {types!r}")
    slides = [kind == "sliding_attention" for kind in types]
    windows = tuple(size(inner, "sliding_window") if each else None for each in slides)
    named = [flat[key] for key in ("is_causal", "causal", "dflash_query_causal") if flat.get(key) is not None]
    if named:
        return windows, (bool(named[0]),) * count
    return windows, tuple(each and not flat.get("sliding_window_non_causal") for each in slides)


def _taps(config: Config, flat: Config, count: int, layers: int) -> tuple[int, ...]:
    """Layers of the target whose outputs are read; speculators names the layers they are inputs of."""
    key, shift = ("aux_hidden_state_layer_ids", 1) if SPECULATORS in config else ("target_layer_ids", 0)
    found = flat.get(key)
    if found in (None, []):  # as z-lab's code has it
        if count == 1:
            return (layers // 2,)
        return tuple(round(1 + i * (layers - 4) / (count - 1)) for i in range(count))
    if not isinstance(found, list) or not all(type(layer) is int for layer in found):
        raise ValueError(f"its {key} are {found!r}")
    return tuple(layer - shift for layer in found)
