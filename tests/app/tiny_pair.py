"""A pair with random weights and a byte tokenizer, written to a folder as `mlx-spec` loads it."""

import json
from pathlib import Path

import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_lm.models import llama
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

END = "<|end|>"
TEMPLATE = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}\n{% endfor %}[assistant] "


def write_tiny_pair(folder: Path) -> tuple[Path, Path]:
    """A target of two layers and a draft of one; returns their folders."""
    target, draft = folder / "target", folder / "draft"
    _write_model(target, layers=2, seed=1)
    _write_model(draft, layers=1, seed=2)
    return target, draft


def _write_model(folder: Path, layers: int, seed: int) -> None:
    folder.mkdir(parents=True)
    tokenizer = _tokenizer()
    config = {
        "model_type": "llama",
        "hidden_size": 32,
        "num_hidden_layers": layers,
        "intermediate_size": 64,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-5,
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
        "eos_token_id": tokenizer.eos_token_id,
    }
    mx.random.seed(seed)
    model = llama.Model(llama.ModelArgs.from_dict(config))
    weights = {name: mx.random.normal(w.shape) * 0.2 for name, w in tree_flatten(model.parameters())}
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer.save_pretrained(folder)


def _tokenizer() -> PreTrainedTokenizerFast:
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {char: i for i, char in enumerate([*alphabet, END])}
    fast = Tokenizer(models.BPE(vocab, []))
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=fast, eos_token=END)
    tokenizer.chat_template = TEMPLATE
    return tokenizer
