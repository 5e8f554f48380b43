"""Every model type of the installed mlx-lm, built tiny with random weights, and what we do with it.

    python -m tests.mlx_spec.model_types --write docs/model-types.md

Greedy text must be mlx-lm's own, token for token, without a draft, with a draft model of the same type
and with lookup, read at once and (where the type allows it) with a round in flight, over two turns.
Configurations are made from the names of their fields (`BY_FIELD`) and what a type needs beside
(`BY_TYPE`); each type runs in a process of its own.
"""

import argparse
import dataclasses
import importlib
import importlib.metadata
import json
import os
import pkgutil
import subprocess
import sys
import typing
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import mlx_lm.models
from mlx_lm.generate import generate_step

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.target.cache import make_entries
from mlx_spec.types import DrafterName
from tests.mlx_spec.proof_drafters import BINARY, Branching
from tests.mlx_spec.tiny_models import VOCAB, engine_of, nearly, prompt, settled

HIDDEN, HEADS, KV_HEADS, HEAD_DIM, LAYERS, EXPERTS = 32, 4, 2, 8, 2, 4
WINDOW = 24
TURNS, TOKENS = [prompt(13, 2), prompt(5, 3)], 30
WAYS: list[tuple[DrafterName, int]] = [("none", 0), ("model", 1), ("model", 4), ("lookup", 4)]
PAIRS_THAT_WORK = " Use another model: `mlx-spec pairs` lists some that work."
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

YARN = {
    **ROPE,
    "type": "yarn",
    "rope_type": "yarn",
    "factor": 4.0,
    "original_max_position_embeddings": 2048,
    "llama_4_scaling_beta": 0.1,
}
MAMBA2 = {"mamba_d_head": 8, "mamba_n_heads": 4, "mamba_n_groups": 1, "mamba_d_conv": 4, "mamba_d_state": 8}
LATENT = {
    "q_lora_rank": 16,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
}
KIMI = {
    "kda_layers": [1],
    "full_attn_layers": [2],
    "num_heads": 4,
    "head_dim": 8,
    "short_conv_kernel_size": 4,
}
PER_TYPE_ROPE = {"rope_parameters": {"sliding_attention": ROPE, "full_attention": ROPE}}

BY_TYPE: dict[str, dict[str, Any]] = {
    "afm7": {"num_kv_reuse_layers": 1, "num_layers": 3},
    "apertus": {"rope_scaling": None},
    "baichuan_m1": {"sliding_window_layers": [0], "conv_window": 2},
    "dbrx": {
        "ffn_config": {"ffn_hidden_size": HIDDEN, "moe_num_experts": EXPERTS, "moe_top_k": 2},
        "attn_config": {"kv_n_heads": KV_HEADS, "clip_qkv": 8.0, "rope_theta": 10000.0},
    },
    "deepseek_v2": {"rope_scaling": {**YARN, "mscale_all_dim": 1.0, "mscale": 1.0}},
    "deepseek_v32": {"index_topk": 24},
    "exaone4": {"rope_scaling": None, "sliding_window_pattern": "LG"},
    "exaone_moe": {"is_moe_layer": [False, True]},
    "falcon_h1": {"mamba_d_ssm": HIDDEN},
    "gemma3": {"text_config": "gemma3_text", "vocab_size": VOCAB},
    "gemma3n": {
        "text_config": ("gemma3n", "TextConfig"),
        "num_hidden_layers": 4,
        "num_kv_shared_layers": 2,
        "layer_types": SLIDING * 2,
        "activation_sparsity_pattern": [0.0] * 4,
        "altup_num_inputs": 2,
        "altup_coef_clip": 120.0,
        "altup_correct_scale": True,
        "altup_active_idx": 0,
        "laurel_rank": 8,
        "final_logit_softcapping": 30.0,
        "rope_local_base_freq": 10000.0,
    },
    "gemma4": {"text_config": "gemma4_text", "vocab_size": VOCAB},
    "gemma4_text": {"num_hidden_layers": 4, "num_kv_shared_layers": 2, "layer_types": SLIDING * 2},
    "gear": {"layer_types": ["conv_mixer", "full_attention"]},
    "glm4_moe": {"rope_scaling": None},
    "glm_moe_dsa": {"index_topk": 24, "topk_method": "noaux_tc", "scoring_func": "sigmoid"},
    "granitemoehybrid": {
        **MAMBA2,
        "layer_types": ["mamba", "attention"],
        "mamba_proj_bias": False,
        "mamba_conv_bias": True,
    },
    "hunyuan": {
        "cla_share_factor": 2,
        "use_cla": True,
        "rope_scaling": {"type": "dynamic", "alpha": 1.0, "factor": 1.0},
    },
    "jamba": {
        "layers_block_type": ["mamba", "attention"],
        "attn_layer_offset": 1,
        "attn_layer_period": 2,
        "expert_layer_offset": 1,
        "expert_layer_period": 2,
    },
    "kimi_k25": {"text_config": "deepseek_v3"},
    "kimi_k3": {
        "text_config": ("kimi_k3", "TextArgs"),
        **LATENT,
        "linear_attn_config": KIMI,
        "hidden_act": "situ",
        "moe_intermediate_size": HIDDEN,
        "num_experts": EXPERTS,
    },
    "kimi_linear": {**LATENT, "linear_attn_config": KIMI},
    "kimi_vl": {"text_config": ("kimi_vl", "TextArgs"), "n_routed_experts": EXPERTS, "n_shared_experts": 1},
    "lfm2": {
        "block_multiple_of": 8,
        "block_ffn_dim_multiplier": 1.0,
        "block_ff_dim": 2 * HIDDEN,
        "full_attn_idxs": [1],
    },
    "lfm2-vl": {"text_config": "lfm2"},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
    "lille-130m": {"n_embd": 128},
    "llama4": {
        "text_config": ("llama4", "TextArgs"),
        "num_hidden_layers": 4,
        "num_experts_per_tok": 1,
        "rope_scaling": None,
    },
    "llama4_text": {"no_rope_layers": [1, 0]},
    "longcat_flash": {
        "attention_method": "MLA",
        "zero_expert_type": "identity",
        "zero_expert_num": 1,
        "mla_scale_q_lora": True,
        "mla_scale_kv_lora": True,
    },
    "longcat_flash_ngram": {
        "zero_expert_num": 1,
        "hidden_size": 48,
        "ngram_vocab_size_ratio": 3,
        "mla_scale_q_lora": True,
        "mla_scale_kv_lora": True,
    },
    "mellum": PER_TYPE_ROPE,
    "mimo_v2_flash": {
        "hybrid_layer_pattern": [0, 1],
        "moe_layer_freq": [0, 1],
        "topk_method": "noaux_tc",
        "scoring_func": "sigmoid",
    },
    "minicpm": {"dim_model_base": HIDDEN, "scale_depth": 1.4, "scale_emb": 1},
    "minicpm3": {
        "dim_model_base": HIDDEN,
        "scale_depth": 1.4,
        "scale_emb": 1,
        "rope_scaling": {
            "original_max_position_embeddings": 2048,
            "short_factor": [1.0] * 4,
            "long_factor": [1.0] * 4,
        },
    },
    "minimax_m3_vl": {
        "text_config": ("minimax_m3_vl", "TextArgs"),
        "dense_intermediate_size": 2 * HIDDEN,
        "layer_types": ["full_attention", "minimax_m3_sparse"],
        "index_n_heads": 2,
        "index_head_dim": 8,
        "index_block_size": 8,
        "index_topk_blocks": 2,
        "rotary_dim": 8,
    },
    "ministral3": {"rope_parameters": YARN, "layer_types": SLIDING, "sliding_window": WINDOW},
    "mistral3": {"text_config": "ministral3"},
    "mistral4": {"rope_parameters": {**YARN, "mscale_all_dim": 1.0, "mscale": 1.0}},
    "muse_spark": {
        "text_config": ("muse_spark", "TextArgs"),
        "layer_rope_theta": [10000.0, 0],
        "final_logit_softcapping": 20.0,
        "output_multiplier": 1.0,
        "moe_hidden_size": HIDDEN,
        "post_norm_eps": 1e-5,
        "num_shared_experts": 0,
    },
    "nemotron": {"hidden_act": "relu2"},
    "nemotron-nas": {
        "block_configs": [
            {"attention": {"n_heads_in_group": 2}, "ffn": {"ffn_mult": 2.0}},
            {"attention": {"no_op": True}, "ffn": {"ffn_mult": 2.0}},
        ]
    },
    "nemotron_h": {"hybrid_override_pattern": ["M", "*", "-"], "num_hidden_layers": 3},
    "olmo3": {"layer_types": SLIDING},
    "openelm": {
        "num_query_heads": [HEADS] * LAYERS,
        "num_kv_heads": [KV_HEADS] * LAYERS,
        "ffn_multipliers": [2.0] * LAYERS,
        "ffn_dim_divisor": 8,
    },
    "phi3small": {
        "dense_attention_every_n_layers": 2,
        "gegelu_limit": 20.0,
        "vocab_size": 100352,
        "blocksparse_block_size": 64,
        "blocksparse_num_local_blocks": 2,
        "blocksparse_vert_stride": 2,
    },
    "pixtral": {"text_config": "llama"},
    "qwen2_vl": {"text_config": "qwen2"},
    "qwen3": {"rope_theta": 10000.0},
    "qwen3_5": {"text_config": ("qwen3_5", "TextModelArgs"), "num_experts": 0},
    "qwen3_5_moe": {"text_config": ("qwen3_5", "TextModelArgs")},
    "qwen3_moe": {"mlp_only_layers": [0]},
    "qwen3_next": {"mlp_only_layers": [0]},
    "qwen3_vl": {"text_config": "qwen3"},
    "qwen3_vl_moe": {"text_config": "qwen3_moe"},
    "recurrent_gemma": {"block_types": ["recurrent", "attention"], "logits_soft_cap": 30.0},
    "rwkv7": {"head_dim": 8},
    "spark2_5": {**PER_TYPE_ROPE, "hidden_act": "gelu"},
    "step3p5": {},
}
"""What a type needs beside that. A `text_config` names whose arguments it holds: those of another
type, or of a class of its own module; the rest of the table entry goes in there too."""


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


def configuration(name: str) -> dict[str, Any]:
    """A tiny config.json of this model type."""
    module = importlib.import_module(f"mlx_lm.models.{name}")
    own = BY_TYPE.get(name, {})
    text = {}
    match own.get("text_config"):
        case str(inner):
            text = {"text_config": configuration(inner)}
        case where, inner:
            cls = getattr(importlib.import_module(f"mlx_lm.models.{where}"), inner)
            text = {"text_config": {**arguments(cls, own), "model_type": name}}
    return {**arguments(module.ModelArgs, own), **text, "model_type": name}


def build(name: str, seed: int = 0) -> nn.Module:
    """A tiny model of this type with random weights."""
    module = importlib.import_module(f"mlx_lm.models.{name}")
    model = settled(module.Model(module.ModelArgs.from_dict(configuration(name))), seed)
    for part in model.modules():
        if isinstance(part, nn.Embedding):
            # Else, where embeddings are scaled up, each token would only repeat itself.
            part.weight = part.weight * 0.1
    return model


OWN_TEXT = {
    "plamo3": "mlx-lm's windows hold one row more in prefill than in decoding: compared with our plain text"
}
"""Types whose plain text need not be mlx-lm's, and why."""


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of one type."""

    name: str
    outcome: str
    """works; by structure: its caches are of kinds that work, but its code does not run on this machine;
    refused; not built: there is no tiny configuration of it here; differs: a fault of ours."""
    how: str = ""
    why: str = ""
    trees: str = ""


def check(name: str, ways: Sequence[tuple[DrafterName, int]] = WAYS) -> Result:
    """Build a pair of this type and compare the texts it gives with each drafter and length."""
    try:
        target, draft = build(name), nearly(lambda seed: build(name, seed), noise=0.05)
    except (Exception, SystemExit) as error:
        return Result(name, "not built", why=_first_line(error))
    try:
        engine = engine_of(target, draft, context_limit=2048)
    except UnsupportedModel as error:
        return Result(name, "refused", why=str(error).removesuffix(PAIRS_THAT_WORK))
    except RuntimeError as error:
        make_entries(target)
        return Result(name, "by structure", why=_first_line(error))
    past, lazy = engine.target._history, engine.target.lazy
    how = "rows" if past is None else type(past.now).__name__.lower()
    how += "" if lazy else ", read at once"
    wanted = expected(engine, name)
    for in_flight in (0, 1) if lazy else (0,):
        engine.drafts_in_flight = bool(in_flight)
        for drafter, length in ways:
            if texts(engine, drafter, length) != wanted:
                return Result(name, "differs", how, f"{drafter}, length {length}, {in_flight} in flight")
    dull = len({token for answer in wanted for token in answer}) < 8
    why = "its random weights repeat a few tokens" if dull else ""
    return Result(name, "works", how, OWN_TEXT.get(name, why), trees_of(target, draft, wanted))


def trees_of(target: nn.Module, draft: nn.Module, wanted: list[list[int]]) -> str:
    """Whether a draft model's trees give the same text; `refused` where passes cannot be trees."""
    drafter = Branching(draft, BINARY)
    engine = Engine(target, [drafter], context_limit=2048)
    if not (engine.target.trees and drafter.cached.trees):
        return "refused"
    try:
        return "yes" if texts(engine, drafter.name, drafter.depth) == wanted else "differ"
    except Exception as error:
        return _first_line(error)


def expected(engine: Engine, name: str) -> list[list[int]]:
    """mlx-lm's own text of every turn, each from a fresh start."""
    if name in OWN_TEXT:
        return texts(engine, "none", 0)
    ids: list[int] = []
    answers = []
    for turn in TURNS:
        ids = ids + turn
        answers.append(
            [int(token) for token, _ in generate_step(mx.array(ids), engine.target.model, max_tokens=TOKENS)]
        )
        ids = ids + answers[-1]
    return answers


def texts(engine: Engine, drafter: DrafterName, length: int) -> list[list[int]]:
    """Our text of every turn, each going on from the last."""
    engine.forget()
    options = Options(max_tokens=TOKENS, drafter=drafter, draft_length=length or None)
    ids: list[int] = []
    answers = []
    for turn in TURNS:
        ids = ids + turn
        answers.append([token for round_ in engine.generate(ids, options) for token in round_.tokens])
        ids = ids + answers[-1]
    return answers


def _first_line(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "its module needs a package that is not installed"
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}".replace("|", "/")


def check_apart(name: str) -> Result:
    """`check` in a process of its own: a type that brings its process down brings down nothing else."""
    command = [sys.executable, "-m", "tests.mlx_spec.model_types", "--check", name]
    environment = {**os.environ, "MLX_DISABLE_COMPILE": "1", "MLX_SPEC_BLAS": "reference"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return Result(name, "not built", why=f"its process ended with {done.returncode}")
    return Result(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", metavar="TYPE", help="check one type and print the result as JSON")
    parser.add_argument("--write", metavar="FILE", type=Path, help="write the table")
    given = parser.parse_args()
    if given.check:
        print(json.dumps(dataclasses.asdict(check(given.check))))
        return
    with ThreadPoolExecutor(2) as pool:
        results = []
        for result in pool.map(check_apart, model_types()):
            print(
                f"{result.name:24}{result.outcome:12}{result.how:24}{result.trees:10}{result.why}", flush=True
            )
            results.append(result)
    if given.write:
        given.write.write_text(page(results))


PAGE = """# Model types

What mlx-spec does with every model type of mlx-lm {version}, as targets and as draft models. Written by
`python -m tests.mlx_spec.model_types --write docs/model-types.md`: each type is built tiny with random
weights, and its greedy text must be mlx-lm's own, token for token: without a draft, with a draft model of
the same type at lengths 1 and 4, and with lookup; read at once and with a round in flight; over two turns.
Float32 on the CPU.

{counts}

How a type goes back after a rejected draft:

- **rows**: attention; keys and values by position, going back is a smaller offset.
- **recomputed**: recurrent layers whose recurrence runs again over what it was given.
- **replayed**: recurrent layers whose accepted tokens the model reads again
  ([decision 0009](decisions/0009-recurrent-layers-go-back.md)).
- **read at once**: the host must know where a pass begins, so no drafted round is in flight.

Trees: **yes**, a draft may be a tree (checked with a binary tree of depth 3); **refused**, chains only.

| type | outcome | goes back by | trees | remark |
|---|---|---|---|---|
{rows}
"""


def page(results: list[Result]) -> str:
    outcomes = {result.outcome for result in results}
    counts = [f"{sum(r.outcome == outcome for r in results)} {outcome}" for outcome in sorted(outcomes)]
    rows = [f"| {r.name} | {r.outcome} | {r.how} | {r.trees} | {r.why} |" for r in results]
    return PAGE.format(
        version=importlib.metadata.version("mlx-lm"),
        counts=f"{len(results)} types: {', '.join(reversed(counts))}.",
        rows="\n".join(rows),
    )


if __name__ == "__main__":
    main()
