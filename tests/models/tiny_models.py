"""Models and tokenizers of a few kilobytes: random weights, freshly trained byte pairs."""

import json
from pathlib import Path
from typing import Any

import mlx.core as mx
from mlx.utils import tree_flatten
from mlx_lm.models.llama import Model, ModelArgs
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

TEXT = ("the small model guesses ahead and the large one checks " * 20, "def f(x):\n    return x + 1\n" * 20)
SPECIAL = ("<|end|>", "<|user|>", "<|answer|>")
TEMPLATE = (
    "{% for m in messages %}<|user|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|answer|>{% endif %}"
)


def make_tokenizer(
    folder: Path,
    *,
    text: tuple[str, ...] = TEXT,
    vocabulary: int = 320,
    special: tuple[str, ...] = SPECIAL,
    template: str = TEMPLATE,
) -> None:
    """Write tokenizer.json and tokenizer_config.json: byte-level pairs, then the special tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=vocabulary, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(text, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in special])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": special[0],
        "chat_template": template,
        "model_max_length": 512,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def edit(file: Path, **changes: Any) -> None:
    """Change entries of a JSON file, which is made if there is none."""
    file.write_text(json.dumps((json.loads(file.read_text()) if file.exists() else {}) | changes))


def model_config(**changes: Any) -> dict[str, Any]:
    """A Llama model of two layers, 32 wide."""
    config: dict[str, Any] = {
        "model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 64,
        "num_attention_heads": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "vocab_size": 384,
        "max_position_embeddings": 512, "tie_word_embeddings": True,
    }  # fmt: skip
    return config | changes


def make_model(folder: Path, *, seed: int = 0, **changes: Any) -> Path:
    """Write config.json and model.safetensors of a random Llama model."""
    folder.mkdir(parents=True, exist_ok=True)
    config = model_config(**changes)
    mx.random.seed(seed)
    model = Model(ModelArgs.from_dict(config))
    mx.save_safetensors(str(folder / "model.safetensors"), dict(tree_flatten(model.parameters())))
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def make_pair(folder: Path) -> tuple[Path, Path]:
    """A target and a smaller draft with one tokenizer: folders `target` and `draft`."""
    target = make_model(folder / "target")
    draft = make_model(folder / "draft", seed=1, num_hidden_layers=1)
    for model in (target, draft):
        make_tokenizer(model)
    return target, draft


def files_of(folder: Path) -> dict[str, bytes]:
    """The folder's files by name, for a `HostedModel`."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
