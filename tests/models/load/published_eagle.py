"""One EAGLE-3 head in each published format: tensor names, layer ids, where config.json has its sizes."""

from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten

from mlx_spec.drafters.eagle_head import EagleHead
from tests.mlx_spec.heads import KNOWN, TAPS
from tests.mlx_spec.tiny_models import VOCAB
from tests.models.drafter_folders import write_folder

AUX = "eagle_aux_hidden_state_layer_ids"
LAYER = {
    "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
    "num_hidden_layers": 1, "rms_norm_eps": 1e-5, "vocab_size": VOCAB, "head_dim": 8, "hidden_act": "silu",
}  # fmt: skip
LEAVING = list(TAPS)
ENTERING = [layer + 1 for layer in TAPS]


def safe_ai_lab(flags: dict[str, Any]) -> dict[str, Any]:
    """Names neither layers nor RoPE."""
    return {
        **LAYER,
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "draft_vocab_size": 9,
        **flags,
    }


def sglang(flags: dict[str, Any]) -> dict[str, Any]:
    named = {"architectures": ["LlamaForCausalLMEagle3"], "model_type": "llama", "rope_theta": 10000.0}
    return {**LAYER, **named, "eagle_config": {AUX: LEAVING, "use_aux_hidden_state": True}, **flags}


def speculators(flags: dict[str, Any]) -> dict[str, Any]:
    """As speculators 0.9.0 writes it, without the defaults of transformers' Llama."""
    kind = "qwen3" if flags.pop("qk_norm", False) else "llama"
    inner = {k: x for k, x in LAYER.items() if k != "hidden_act"}
    return {
        "architectures": ["Eagle3DraftModel"],
        "auto_map": {"": "config.Eagle3SpeculatorConfig"},
        "draft_vocab_size": 9,
        AUX: ENTERING,
        "embed_requires_grad": False,
        "norm_before_residual": False,
        "speculators_model_type": "eagle3",
        "target_hidden_size": None,
        "transformer_layer_config": {
            **inner, "model_type": kind, "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
            "num_hidden_layers": 1,
        },
        **flags,
    }  # fmt: skip


def deep_spec(flags: dict[str, Any]) -> dict[str, Any]:
    """A copy of the target's config, with its layers counted."""
    named = {"architectures": ["Qwen3Eagle3Model"], "model_type": "qwen3", "rope_theta": 10000.0}
    flags.pop("qk_norm", None)
    more = {
        "target_layer_ids": LEAVING,
        "num_target_layers": 4,
        "draft_num_hidden_layers": 1,
        "ttt_length": 7,
    }
    return {**LAYER, **named, **more, **flags}


PACKAGINGS = {"SafeAILab": safe_ai_lab, "SGLang": sglang, "speculators": speculators, "DeepSpec": deep_spec}


def publish(folder: Path, head: EagleHead, packaging: str, **flags: Any) -> Path:
    """Write a head in a published format, with an embedding if the format has one."""
    weights: dict[str, mx.array] = dict(tree_flatten(head.parameters()))  # type: ignore[arg-type]
    renamed = packaging in ("speculators", "DeepSpec")
    if renamed:
        weights = {name.replace("midlayer.", "layers.0."): x for name, x in weights.items()}
        weights["embed_tokens.weight"] = mx.ones((VOCAB, 32))
    if head.shape.tokens == KNOWN:
        tokens = mx.array(KNOWN, mx.int64)
        weights["d2t"] = tokens - mx.arange(len(KNOWN))
        weights["t2d"] = mx.array([token in KNOWN for token in range(VOCAB)])
    return write_folder(folder, PACKAGINGS[packaging](flags), weights)
