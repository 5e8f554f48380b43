"""Every model type of the installed mlx-lm, built tiny: configurations by the name of each field."""

import dataclasses
import importlib
import pkgutil
import typing
from pathlib import Path
from typing import Any

import mlx.nn as nn
import mlx_lm.models

from tests.mlx_spec.tiny_models import VOCAB, settled

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, LAYERS, EXPERTS = 32, 4, 2, 8, 2, 4
WINDOW = 24
SLIDING = ["sliding_attention", "full_attention"] * (LAYERS // 2)
ROPE = {"rope_type": "default", "rope_theta": 10000.0}

BY_FIELD: dict[str, Any] = {
    **dict.fromkeys(("vocab_size", "num_vocab", "vocab_size_per_layer_input"), VOCAB),
    **dict.fromkeys(("hidden_size", "hidden_dim", "n_embd", "d_model", "model_dim", "block_dim"), HIDDEN),
    **dict.fromkeys(
        ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "num_transformer_layers"), LAYERS
    ),
    **dict.fromkeys(
        ("num_attention_heads", "num_heads", "n_head", "n_heads", "swa_num_attention_heads",
         "mamba_num_heads", "mamba_n_heads", "linear_num_value_heads", "index_n_heads"), HEADS
    ),
    **dict.fromkeys(
        ("num_key_value_heads", "num_kv_heads", "n_kv_heads", "swa_num_key_value_heads",
         "linear_num_key_heads", "num_attention_groups", "n_shared_head"), KV_HEADS
    ),
    **dict.fromkeys(
        ("head_dim", "global_head_dim", "swa_head_dim", "swa_v_head_dim", "v_head_dim", "qk_nope_head_dim",
         "mamba_head_dim", "mamba_d_head", "hidden_size_per_head", "kv_channels", "linear_key_head_dim",
         "linear_value_head_dim", "index_head_dim", "rotary_dim"), HEAD_DIM
    ),
    **dict.fromkeys(
        ("intermediate_size", "ffn_hidden_size", "intermediate_size_mlp", "n_inner", "ff_intermediate_size",
         "block_ff_dim"), 2 * HIDDEN
    ),
    **dict.fromkeys(
        ("moe_intermediate_size", "moe_shared_expert_intermediate_size", "shared_expert_intermediate_size",
         "expert_ffn_hidden_size", "shared_intermediate_size", "share_expert_dim"), HIDDEN
    ),
    **dict.fromkeys(
        ("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts"), EXPERTS
    ),
    **dict.fromkeys(
        ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "moe_top_k", "top_k_experts"), 2
    ),
    **dict.fromkeys(
        ("n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts", "n_group",
         "topk_group", "num_expert_group", "moe_layer_freq", "decoder_sparse_step", "n_groups",
         "mamba_n_groups", "first_k_dense_replace", "num_dense_layers", "interleave_moe_layer_step"), 1
    ),
    **dict.fromkeys(("kv_lora_rank", "q_lora_rank", "group_norm_size", "o_lora_rank"), 16),
    **dict.fromkeys(
        ("a_low_rank_dim", "v_low_rank_dim", "gate_low_rank_dim", "decay_low_rank_dim", "mamba_dt_rank",
         "time_step_rank", "qk_rope_head_dim", "hidden_size_per_layer_input", "state_size", "ssm_state_size",
         "mamba_d_state"), 8
    ),
    **dict.fromkeys(
        ("conv_kernel", "mamba_d_conv", "linear_conv_kernel_dim", "conv1d_width", "short_conv_kernel_size"), 4
    ),
    **dict.fromkeys(("conv_L_cache", "mamba_expand"), 3),
    **dict.fromkeys(
        ("sliding_window", "attention_window_size", "sliding_window_size", "window_size", "loop_window_size",
         "attention_chunk_size"), WINDOW
    ),
    **dict.fromkeys(
        ("sliding_window_pattern", "_sliding_window_pattern", "layer_group_size", "full_attention_interval"),
        2,
    ),
    **dict.fromkeys(
        ("max_position_embeddings", "n_positions", "n_ctx", "block_size", "model_max_length"), 2048
    ),
    **dict.fromkeys(("rope_theta", "rotary_emb_base", "swa_rope_theta"), 10000.0),
    **dict.fromkeys(
        ("rms_norm_eps", "layer_norm_epsilon", "layer_norm_eps", "norm_eps", "layernorm_epsilon"), 1e-5
    ),
    **dict.fromkeys(
        ("embedding_multiplier", "logits_scaling", "attention_multiplier", "residual_multiplier",
         "logit_scale", "routed_scaling_factor"), 1.0
    ),
    "query_pre_attn_scalar": HEAD_DIM,
    "partial_rotary_factor": 1.0,
    "rotary_pct": 1.0,
    "norm_topk_prob": True,
    "tie_word_embeddings": False,
    "rope_parameters": ROPE,
    "time_step_limit": (0.001, 100.0),
    "mlp_only_layers": [],
    "layer_types": SLIDING,
    "hidden_act": "silu",
}  # fmt: skip
"""A tiny value for each field that sets a size; fields not named keep their default."""

BY_TYPE: dict[str, dict[str, Any]] = {
    "lfm2": {
        "block_multiple_of": 8,
        "block_ffn_dim_multiplier": 1.0,
        "block_ff_dim": 64,
        "full_attn_idxs": [1],
    },
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "full_attn_idxs": [1]},
    "nemotron_h": {"hybrid_override_pattern": ["M", "*", "-"], "ssm_state_size": 8},
    "granitemoehybrid": {
        "layer_types": ["mamba", "attention"],
        "mamba_proj_bias": False,
        "mamba_d_head": 8,
        "mamba_n_heads": 4,
        "mamba_n_groups": 1,
        "mamba_d_conv": 4,
        "mamba_d_state": 8,
        "mamba_conv_bias": True,
    },
    "falcon_h1": {"mamba_d_ssm": 32},
    "qwen3_5": {
        "text_config": {
            "model_type": "qwen3_5_text",
            "linear_key_head_dim": 8,
            "linear_value_head_dim": 8,
            "linear_num_value_heads": 4,
            "linear_num_key_heads": 2,
            "full_attention_interval": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": LAYERS,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "vocab_size": VOCAB,
        }
    },
}


def model_types() -> list[str]:
    """Modules of mlx_lm.models that can be the `model_type` of a checkpoint."""
    found = []
    for module in pkgutil.iter_modules(mlx_lm.models.__path__):
        if "class ModelArgs" in Path(mlx_lm.models.__path__[0], f"{module.name}.py").read_text():
            found.append(module.name)
    return sorted(found)


def arguments(cls: type, own: dict[str, Any]) -> dict[str, Any]:
    """Values for the fields of a dataclass of arguments: `own` first, then by name, then by type."""
    hints = typing.get_type_hints(cls)
    values = {}
    for field in dataclasses.fields(cls):
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if field.name in own:
            values[field.name] = own[field.name]
        elif field.name in BY_FIELD and (needed or field.default is not None):
            values[field.name] = BY_FIELD[field.name]
        elif needed and hints[field.name] is bool:
            values[field.name] = False
    return values


def build(name: str, seed: int = 0) -> nn.Module:
    module = importlib.import_module(f"mlx_lm.models.{name}")
    own = BY_TYPE.get(name, {})
    args = module.ModelArgs.from_dict({"model_type": name, **arguments(module.ModelArgs, own), **own})
    return settled(module.Model(args), seed)
