"""Converting a GGUF file to mlx-lm's format: weights, tokenizer and chat template.

Weights stay the same bit for bit, but those of K-quants (`gguf_numbers.py`).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import mlx.core as mx

from models.errors import BadChoice, BrokenFiles, MachineTrouble, ModelsError, is_full_disk, reason_of
from models.load.gguf_file import GgufFile
from models.load.gguf_numbers import GROUP, KINDS
from models.load.gguf_tokenizer import tokenizer_of

ROPE_FACTORS = "rope_freqs.weight"
"""By frequency, what llama.cpp divides it by: Llama 3.1's scaling of RoPE, which no metadata names."""
LLAMA3_SCALING = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 8192}  # fmt: skip
ENDS = ("<end_of_turn>", "<eos>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|im_end|>",
        "<|endoftext|>")  # fmt: skip
"""Tokens that end an answer or a text, known to llama.cpp by their names. Of those that a model's
generation_config.json lists, a file names one or two."""


@dataclass(frozen=True)
class Architecture:
    """How one of llama.cpp's architectures differs in mlx-lm's format."""

    model_type: str
    extra_names: Mapping[str, str] = field(default_factory=dict)
    """Tensor names beside `NAMES`."""
    interleaved: bool = False
    """Whether the two halves of each head's rotary dimensions are interleaved in q and k."""
    norm_offset: float = 0.0
    """What llama.cpp adds to the weights of norms."""
    config: Callable[[GgufFile], dict[str, Any]] = lambda _: {}
    """Further entries of config.json."""


NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
Q_AND_K_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}


def _gemma3(file: GgufFile) -> dict[str, Any]:
    head = file.get("{}.attention.key_length")
    return {
        "rope_local_base_freq": 10_000.0,
        # As llama.cpp: only the 27B model, known by its 62 layers, has another scale.
        "query_pre_attn_scalar": 168 if file.get("{}.block_count") == 62 else head,
        "sliding_window": file.get("{}.attention.sliding_window"),
        "sliding_window_pattern": 6,
    }


ARCHITECTURES = {
    "llama": Architecture("llama", interleaved=True),
    "qwen2": Architecture("qwen2"),
    "qwen3": Architecture("qwen3", Q_AND_K_NORMS),
    "gemma3": Architecture(
        "gemma3_text",
        {
            **Q_AND_K_NORMS,
            "post_attention_norm": "post_attention_layernorm",
            "ffn_norm": "pre_feedforward_layernorm",
            "post_ffw_norm": "post_feedforward_layernorm",
        },
        norm_offset=1.0,
        config=_gemma3,
    ),
}


def unpack(path: Path, folder: Path) -> GgufFile:
    """Write config.json and the tokenizer of a GGUF file into `folder`; the file, its weights not read.

    Raises:
        BrokenFiles: the file is truncated or damaged, or its metadata is incomplete.
        BadChoice: its architecture, tokenizer or number format is not supported.
        MachineTrouble: the disk of `folder` is full.
    """
    try:
        file = GgufFile(path)
        if file.architecture not in ARCHITECTURES:
            known = ", ".join(ARCHITECTURES)
            raise BadChoice(
                f"{path} has the architecture {file.architecture}; GGUF is supported for {known}. "
                "Use an MLX or safetensors version of the model."
            )
        config = _config(file, ARCHITECTURES[file.architecture])
        tokenizer_of(file).save_pretrained(folder)
        (folder / "config.json").write_text(json.dumps(config))
    except ModelsError:
        raise
    except Exception as error:  # tokenizers raises nothing more special
        if is_full_disk(error):
            raise MachineTrouble(
                f"The tokenizer of {path} cannot be written to {folder}: the disk is full. Make room there, "
                "or set TMPDIR to another folder."
            ) from error
        raise BrokenFiles(
            f"{path} cannot be read as GGUF ({reason_of(error)}). Download it again."
        ) from error
    return file


def read_weights(file: GgufFile) -> dict[str, mx.array]:
    """The weights under mlx-lm's names; may take minutes. BrokenFiles if the file ends too early."""
    architecture, weights = ARCHITECTURES[file.architecture], dict[str, mx.array]()
    heads = {"q_proj": file.get("{}.attention.head_count"), "k_proj": _key_heads(file)}
    for tensor, layer in _layers(file).items():
        name = layer.rpartition(".")[2]
        for leaf, array in file.tensor(tensor).items():
            if architecture.interleaved and name in heads:
                array = _halves(array, heads[name])
            if architecture.norm_offset and "norm" in name:
                array = array - architecture.norm_offset
            weights[f"{layer}.{leaf}"] = array
    return weights


def _layers(file: GgufFile) -> dict[str, str]:
    """By tensor: mlx-lm's name of its layer."""
    architecture, layers = ARCHITECTURES[file.architecture], dict[str, str]()
    names = {**NAMES, **architecture.extra_names}
    for tensor in (name for name in file.table if name != ROPE_FACTORS):
        found = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.(?:weight|bias)", tensor)
        if found is None or found[2] not in names:
            raise BadChoice(
                f"{file.path} has a tensor {tensor}, which {architecture.model_type} has not in mlx-lm."
            )
        layers[tensor] = f"{f'model.layers.{found[1]}.' if found[1] else ''}{names[found[2]]}"
    return layers


def _halves(x: mx.array, heads: int) -> mx.array:
    """Reorder each head's rows from interleaved halves to one half after the other."""
    return x.reshape(heads, x.shape[0] // heads // 2, 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def _key_heads(file: GgufFile) -> int:
    return file.get("{}.attention.head_count_kv", file.get("{}.attention.head_count"))


def _config(file: GgufFile, architecture: Architecture) -> dict[str, Any]:
    """config.json."""
    get, layers = file.get, _layers(file)
    heads, hidden = get("{}.attention.head_count"), get("{}.embedding_length")
    head = get("{}.attention.key_length", hidden // heads)
    if (rotated := get("{}.rope.dimension_count", head)) != head:
        raise BadChoice(
            f"{file.path} rotates {rotated!r} of the {head!r} numbers of each head, and mlx-lm's "
            f"{architecture.model_type} rotates all. Use an MLX or safetensors version of the model."
        )
    found = len({name.split(".")[1] for name in file.table if name.startswith("blk.")})
    if found != (named := get("{}.block_count")):  # mlx-lm would build as many as are named
        raise BrokenFiles(f"{file.path} names {named!r} layers and has {found}. Download it again.")
    config = {
        "model_type": architecture.model_type,
        "hidden_size": hidden,
        "num_hidden_layers": found,
        "intermediate_size": get("{}.feed_forward_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": _key_heads(file),
        "head_dim": head,
        "rms_norm_eps": get("{}.attention.layer_norm_rms_epsilon"),
        "vocab_size": len(get("tokenizer.ggml.tokens")),
        "rope_theta": get("{}.rope.freq_base", 10_000.0),
        "max_position_embeddings": get("{}.context_length"),
        "tie_word_embeddings": "output.weight" not in file.table,
        "attention_bias": "blk.0.attn_q.bias" in file.table,
        "mlp_bias": "blk.0.ffn_up.bias" in file.table,
        "eos_token_id": _ends(file),
        **architecture.config(file),
    }
    if (scaling := get("{}.rope.scaling.type", "none")) != "none":
        config["rope_scaling"] = {
            "type": scaling,
            "factor": get("{}.rope.scaling.factor"),
            "original_max_position_embeddings": get(
                "{}.rope.scaling.original_context_length", config["max_position_embeddings"]
            ),
        }
    if ROPE_FACTORS in file.table:
        # The lowest frequencies have the factor of the scaling.
        factor = file.tensor(ROPE_FACTORS)["weight"].max().item()
        config["rope_scaling"] = LLAMA3_SCALING | {"factor": factor}
    kinds = [(layer, KINDS.get(file.table[name].kind)) for name, layer in layers.items()]
    if quantized := {layer: kind.bits for layer, kind in kinds if kind}:
        usual = Counter(quantized.values()).most_common(1)[0][0]
        # Every layer is named: mlx-lm builds the model before it reads the weights.
        named = {layer: {"group_size": GROUP, "bits": bits} for layer, bits in quantized.items()}
        config["quantization"] = {"group_size": GROUP, "bits": usual, **named}
    return config


def _ends(file: GgufFile) -> list[int]:
    """The tokens that end an answer: the end of the text, the end of the turn, and those known by name."""
    tokens = file.get("tokenizer.ggml.tokens")
    eos = file.get("tokenizer.ggml.eos_token_id")
    turn = file.get("tokenizer.ggml.eot_token_id", eos)
    return list(dict.fromkeys([eos, turn, *(tokens.index(name) for name in ENDS if name in tokens)]))
