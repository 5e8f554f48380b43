"""A pair with random weights and a byte tokenizer, written to a folder as `mlx-spec` loads it."""

import json
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_lm.models import llama
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

END = "<|end|>"
TEMPLATE = "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}\n{% endfor %}[assistant] "


@dataclass(frozen=True)
class TinyPair:
    """Folders of the two models."""

    target: Path
    draft: Path

    @property
    def arguments(self) -> list[str]:
        """As the command line names the pair."""
        return ["--target", str(self.target), "--draft", str(self.draft)]


def write_tiny_pair(folder: Path, target_layers: int = 2, draft_layers: int = 1) -> TinyPair:
    """Two models that share a tokenizer and not much else."""
    pair = TinyPair(folder / "target", folder / "draft")
    _write_model(pair.target, target_layers, seed=1)
    _write_model(pair.draft, draft_layers, seed=2)
    return pair


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
        "max_position_embeddings": 4096,
        "tie_word_embeddings": True,
        "eos_token_id": tokenizer.eos_token_id,
    }
    mx.random.seed(seed)
    model = llama.Model(llama.ModelArgs.from_dict(config))
    flat: list[tuple[str, mx.array]] = tree_flatten(model.parameters())  # type: ignore[assignment]
    weights = {name: mx.random.normal(array.shape) * 0.2 for name, array in flat}
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
