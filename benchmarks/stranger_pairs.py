"""Trains small pairs to test on: `python -m benchmarks.stranger_pairs FOLDER [--minutes M]`.

Targets of different depths, each with a smaller draft, trained on Python's standard library and on the
documents of installed packages. Models are in mlx-lm's format without a tokenizer; `held_out.json` has
held-out prompts as token ids.
"""

import argparse
import json
import sysconfig
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from app.shell.runtime import prepare

prepare()

import mlx.core as mx  # noqa: E402
import mlx.nn as nn  # noqa: E402
import numpy as np  # noqa: E402
from mlx.optimizers import AdamW  # noqa: E402
from mlx.utils import tree_flatten  # noqa: E402
from mlx_lm.utils import _get_classes  # noqa: E402
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: E402

BATCH, LENGTH, RATE = 4, 128, 2e-3
HELD_OUT = 12
"""Number of held-out prompts."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Type, text and sizes of a pair."""

    kind: str
    text: str
    vocab: int
    """256: bytes; more: a trained BPE tokenizer."""
    target: tuple[int, int]
    """(width, layers)"""
    draft: tuple[int, int]
    draft_share: float
    """Training time as a share of the target's."""


PAIRS = {
    "deep": Pair("qwen3", "code", 256, (192, 8), (128, 1), 0.6),
    "wide": Pair("llama", "code", 1024, (320, 4), (128, 2), 0.6),
    "weak": Pair("llama", "documents", 256, (256, 3), (64, 1), 0.2),
}


def texts(kind: str) -> str:
    """About 4 MB of text, the same on every run of one installation."""
    folder, endings = Path(sysconfig.get_path("stdlib")), (".py",)
    if kind == "documents":
        folder, endings = Path(np.__file__).parents[1], (".md", ".rst", "METADATA", ".txt")
    found = sorted(p for p in folder.rglob("*") if p.name.endswith(endings) and "site-packages" not in
                   p.relative_to(folder).parts and p.is_file())  # fmt: skip
    chosen = [p.read_text(errors="replace") for p in found[:: max(1, len(found) // 400)]]
    return "\n".join(chosen)[:4_000_000]


def encoded(text: str, vocab: int) -> np.ndarray:
    if vocab == 256:
        return np.frombuffer(text.encode(), np.uint8).astype(np.int32)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocab, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator((text[i : i + 4000] for i in range(0, len(text), 4000)), trainer)
    return np.array(tokenizer.encode(text).ids, np.int32)


def config(pair: Pair, width: int, layers: int) -> dict[str, Any]:
    return {
        "model_type": pair.kind, "hidden_size": width, "num_hidden_layers": layers,
        "intermediate_size": 4 * width // 64 * 64, "num_attention_heads": width // 32,
        "num_key_value_heads": width // 64, "head_dim": 32, "vocab_size": pair.vocab,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
    }  # fmt: skip


def train(settings: dict[str, Any], ids: np.ndarray, seconds: float, folder: Path) -> None:
    mx.random.seed(settings["hidden_size"])
    model_class, args_class = _get_classes(settings)
    model = model_class(args_class.from_dict(settings))
    mx.eval(model.parameters())
    optimizer, rng = AdamW(RATE), np.random.default_rng(1)

    def loss(batch: mx.array) -> mx.array:
        return nn.losses.cross_entropy(model(batch[:, :-1]), batch[:, 1:], reduction="mean")

    step = nn.value_and_grad(model, loss)
    start, number, last = time.perf_counter(), 0, 0.0
    while (spent := time.perf_counter() - start) < seconds:
        optimizer.learning_rate = RATE * min(1.0, (number + 1) / 50) * max(0.05, 1 - spent / seconds)
        places = rng.integers(0, len(ids) - LENGTH - 1, BATCH)
        value, gradients = step(mx.array(np.stack([ids[p : p + LENGTH + 1] for p in places])))
        optimizer.update(model, gradients)
        mx.eval(model.parameters(), optimizer.state, value)
        number, last = number + 1, float(value.item())
    folder.mkdir(parents=True, exist_ok=True)
    weights = dict(tree_flatten(model.parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), weights, {"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(settings))
    size = sum(array.size for array in weights.values()) / 1e6
    print(f"{folder}: {size:.2f} M parameters, {number} steps, loss {last:.2f}", flush=True)


def make(name: str, pair: Pair, folder: Path, seconds: float) -> None:
    ids = encoded(texts(pair.text), pair.vocab)
    kept = len(ids) * 19 // 20
    places = np.linspace(kept, len(ids) - 1024, HELD_OUT).astype(int)
    fit = partial(train, ids=ids[:kept])
    fit(config(pair, *pair.target), seconds=seconds, folder=folder / name / "target")
    fit(config(pair, *pair.draft), seconds=seconds * pair.draft_share, folder=folder / name / "draft")
    held_out = [ids[p : p + 64].tolist() for p in places]
    (folder / name / "held_out.json").write_text(json.dumps(held_out))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stranger_pairs", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minutes", type=float, default=3.0, help="training time of each target")
    parser.add_argument("--only", choices=PAIRS)
    asked = parser.parse_args()
    for name, pair in PAIRS.items():
        if asked.only in (None, name):
            make(name, pair, asked.folder, 60 * asked.minutes)


if __name__ == "__main__":
    main()
