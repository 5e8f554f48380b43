"""Tiny GGUF files written by llama.cpp's own package, and the same weights as an mlx-lm model."""

from pathlib import Path
from typing import Any

import gguf
import mlx.core as mx
import mlx.nn as nn
import numpy as np
from gguf import GGMLQuantizationType as Kind
from mlx.utils import tree_flatten, tree_unflatten
from mlx_lm.models import gemma3_text, llama, qwen2, qwen3
from transformers.convert_slow_tokenizer import bytes_to_unicode

from models.load.gguf import ARCHITECTURES, NAMES

MERGES = ["h e", "l l", "ll o", "he llo", "Ġ w"]
TOKENS = [*bytes_to_unicode().values(), *(merge.replace(" ", "") for merge in MERGES), "<|start|>", "<|end|>"]
TOKENS += ["<turn>", "<end_of_turn>", "<|endoftext|>", "<｜User｜>", "Ġworld"]
TOKENS += [f"[PAD{i}]" for i in range(len(TOKENS), 288)]
SHAPE: dict[str, Any] = {
    "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 128, "num_attention_heads": 2,
    "num_key_value_heads": 1, "rms_norm_eps": 1e-5, "rope_theta": 5000.0, "max_position_embeddings": 64,
    "vocab_size": len(TOKENS),
}  # fmt: skip
HEAD = 32
MODELS = {
    # Its file does not name the length of heads, nor Qwen2's RoPE's base, as those of older converters.
    "llama": (llama, {"tie_word_embeddings": False}),
    "qwen2": (qwen2, {"tie_word_embeddings": True, "rope_theta": 10000.0}),
    "qwen3": (qwen3, {"tie_word_embeddings": True, "head_dim": HEAD}),
    # Of Gemma's layers the sixth is the first without a window.
    "gemma3": (
        gemma3_text,
        {"query_pre_attn_scalar": HEAD, "head_dim": HEAD, "sliding_window": 8, "num_hidden_layers": 6},
    ),
}


def tiny_model(architecture: str, **more: Any) -> nn.Module:
    """Random weights, norms included.

    Args:
        more: further entries of its config.
    """
    module, extra = MODELS[architecture]
    model_type = ARCHITECTURES[architecture].model_type
    model = module.Model(module.ModelArgs(model_type=model_type, **{**SHAPE, **extra, **more}))
    model.sanitize({})  # as mlx-lm does on loading: Gemma's head is its embeddings
    mx.random.seed(3)
    noise = [
        (name, 0.3 * mx.random.normal(x.shape))
        for name, x in tree_flatten(model.parameters())
        if isinstance(x, mx.array)
    ]
    model.update(tree_unflatten(noise))
    return model


def write_gguf(
    path: Path,
    architecture: str,
    kind: Kind,
    *,
    called: str = "",
    pre: str = "smollm",
    file_type: int = 0,
    scaling: dict[str, Any] | None = None,
    **more: Any,
) -> nn.Module:
    """Write `tiny_model` with matrices of this type; return it with the file's dequantized weights.

    Args:
        called: the architecture that the file names, in place of its own.
        scaling: of RoPE, as config.json has it: YaRN, or Llama 3.1's.
        more: further entries of config.json.
    """
    model: Any = tiny_model(architecture, rope_scaling=scaling, **more)
    writer = gguf.GGUFWriter(path, called or architecture)
    writer.add_block_count(len(model.layers))
    writer.add_context_length(SHAPE["max_position_embeddings"])
    writer.add_embedding_length(SHAPE["hidden_size"])
    writer.add_feed_forward_length(SHAPE["intermediate_size"])
    writer.add_head_count(SHAPE["num_attention_heads"])
    writer.add_head_count_kv(SHAPE["num_key_value_heads"])
    if architecture != "llama":
        writer.add_key_length(HEAD)
    if architecture != "qwen2":
        writer.add_rope_freq_base(SHAPE["rope_theta"])
    writer.add_layer_norm_rms_eps(SHAPE["rms_norm_eps"])
    writer.add_file_type(file_type)
    writer.add_sliding_window(8)
    _write_tokenizer(writer, pre)
    if scaling and scaling["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(scaling["factor"])
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    elif scaling:
        writer.add_tensor("rope_freqs.weight", _rope_factors(scaling))
    stored = []
    for name, array in tree_flatten(model.parameters()):
        numbers = np.array(array)
        stored.append((name, mx.array(_as_stored(numbers, kind))))
        written = _as_llama_cpp(name, numbers, architecture)
        packed = gguf.quants.quantize(written, kind) if written.ndim == 2 else written
        writer.add_tensor(
            _name(name, architecture), packed, raw_dtype=kind if written.ndim == 2 else Kind.F32
        )
    model.update(tree_unflatten(stored))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return model


def _rope_factors(scaling: dict[str, Any]) -> np.ndarray:
    """As llama.cpp's converter computes them (`generate_extra_tensors` of Llama)."""
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    context, factor, found = scaling["original_max_position_embeddings"], scaling["factor"], []
    for frequency in SHAPE["rope_theta"] ** -(np.arange(0, HEAD, 2) / HEAD):
        length = 2 * np.pi / frequency
        if length < context / high:
            found.append(1.0)
        elif length > context / low:
            found.append(factor)
        else:
            smooth = (context / length - low) / (high - low)
            found.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(found, np.float32)


def _as_stored(numbers: np.ndarray, kind: Kind) -> np.ndarray:
    if numbers.ndim < 2:
        return numbers
    return gguf.quants.dequantize(gguf.quants.quantize(numbers, kind), kind)


def _as_llama_cpp(name: str, numbers: np.ndarray, architecture: str) -> np.ndarray:
    """As llama.cpp's converter: q and k permuted for Llama (`permute`), norms plus 1 for Gemma."""
    heads = {"q_proj": SHAPE["num_attention_heads"], "k_proj": SHAPE["num_key_value_heads"]}
    layer = name.split(".")[-2]
    if architecture == "llama" and layer in heads:
        shaped = numbers.reshape(heads[layer], 2, len(numbers) // heads[layer] // 2, *numbers.shape[1:])
        return np.ascontiguousarray(shaped.swapaxes(1, 2).reshape(numbers.shape))
    return numbers + 1 if architecture == "gemma3" and "norm" in name else numbers


def _name(name: str, architecture: str) -> str:
    ours = {
        theirs: gguf_name
        for gguf_name, theirs in {**NAMES, **ARCHITECTURES[architecture].extra_names}.items()
    }
    base, leaf = name.rsplit(".", 1)
    if not base.startswith("model.layers."):
        return f"{ours[base]}.{leaf}"
    number, rest = base.removeprefix("model.layers.").split(".", 1)
    return f"blk.{number}.{ours[rest]}.{leaf}"


def write_sentencepiece(path: Path, pieces: list[str], *, leading_space: bool) -> None:
    """Write a file of metadata alone: SentencePiece's tokens, the longest merged first, and the bytes."""
    writer = gguf.GGUFWriter(path, "llama")
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([float(len(token)) for token in tokens])
    writer.add_token_types([2, 3, 3, *[6] * 256, *[1] * len(pieces)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_space_prefix(leading_space)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def _write_tokenizer(writer: gguf.GGUFWriter, pre: str) -> None:
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(TOKENS)
    writer.add_token_types([3 if token.startswith("<") and len(token) > 1 else 1 for token in TOKENS])
    writer.add_token_merges(MERGES)
    writer.add_eos_token_id(TOKENS.index("<|end|>"))
    writer.add_eot_token_id(TOKENS.index("<turn>"))
    writer.add_chat_template("{% for m in messages %}<|start|>{{ m.content }}<|end|>{% endfor %}")
