"""Tiny models of mlx-lm's other architectures, and drafts that are nearly right."""

from collections.abc import Callable

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models import gemma3_text, gemma4_text, qwen3

from tests.mlx_spec.tiny_models import VOCAB, each_matrix, settled, tiny_llama


def nearly(make: Callable[[int], nn.Module], seed: int = 0, noise: float = 0.02) -> nn.Module:
    """A draft model that is often right: the same model with noise on its weights."""
    return each_matrix(make(seed), seed + 1000, lambda x, normal: x + noise * normal * mx.std(x))


def quantizable(seed: int = 0) -> nn.Module:
    """A model whose heads have width 64, the group size of quantized caches."""
    return tiny_llama(seed, layers=1, dim=128, heads=2)


def tiny_sliding_llama(seed: int = 0) -> nn.Module:
    return tiny_llama(seed, layer_types=["sliding_attention", "full_attention"], sliding_window=32)


def tiny_qwen3(seed: int = 0) -> nn.Module:
    args = qwen3.ModelArgs(
        model_type="qwen3", hidden_size=32, num_hidden_layers=3, intermediate_size=64,
        num_attention_heads=4, num_key_value_heads=1, rms_norm_eps=1e-5, vocab_size=VOCAB,
        max_position_embeddings=2048, rope_theta=10000.0, head_dim=8, tie_word_embeddings=False,
    )  # fmt: skip
    return settled(qwen3.Model(args), seed)


def tiny_gemma3(seed: int = 0, **more) -> nn.Module:
    sizes = {
        "hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 64, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 8, "vocab_size": VOCAB, "sliding_window": 24,
        "sliding_window_pattern": 2, "query_pre_attn_scalar": 8,
    }  # fmt: skip
    return settled(gemma3_text.Model(gemma3_text.ModelArgs("gemma3_text", **{**sizes, **more})), seed)


def tiny_gemma4(seed: int = 0) -> nn.Module:
    """Fewer caches than layers: the last two layers read the keys and values of earlier ones."""
    args = gemma4_text.ModelArgs(
        model_type="gemma4_text", hidden_size=32, num_hidden_layers=4, num_kv_shared_layers=2,
        intermediate_size=64, num_attention_heads=4, num_key_value_heads=1, head_dim=8,
        global_head_dim=8, vocab_size=VOCAB, vocab_size_per_layer_input=VOCAB,
        hidden_size_per_layer_input=8, sliding_window=24, sliding_window_pattern=2,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = gemma4_text.Model(args)
    settled(model, seed)
    # Its embeddings are scaled up: left as they are, each token would only repeat itself.
    model.model.embed_tokens.weight = model.model.embed_tokens.weight * 0.1
    return model


ARCHITECTURES: dict[str, Callable[[int], nn.Module]] = {
    "llama": tiny_llama,
    "llama_sliding": tiny_sliding_llama,
    "qwen3": tiny_qwen3,
    "gemma3": tiny_gemma3,
    "gemma4_shared": tiny_gemma4,
}
