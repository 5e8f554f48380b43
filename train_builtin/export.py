"""Exports a trained network as an MLX model folder: 8-bit weights, configuration, tokenizer.

`mlx_lm.load` can read the folder without this package.
"""

import argparse
import json
import shutil
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_lm.models import llama

from train_builtin.network import Network
from train_builtin.train_target import load

BITS, GROUP = 8, 64


def configuration(network: Network, about: str) -> dict:
    """config.json for mlx-lm and transformers, without the quantization."""
    shape = network.shape
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "about": about,
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.layers,
        "intermediate_size": shape.intermediate,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "rms_norm_eps": shape.norm_eps,
        "vocab_size": shape.vocab,
        "max_position_embeddings": shape.context,
        "rope_theta": shape.rope_theta,
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": True,
        "pad_token_id": 0,
        "eos_token_id": 4,
        "torch_dtype": "float16",
    }


def mlx_model(network: Network, dtype: mx.Dtype = mx.float32) -> llama.Model:
    """The same network in MLX, unquantized."""
    model = llama.Model(llama.ModelArgs.from_dict(configuration(network, "")))
    weights = [(f"model.{name}", mx.array(p.detach().numpy())) for name, p in network.named_parameters()]
    model.load_weights(weights, strict=True)
    model.set_dtype(dtype)
    return model


def export(network: Network, about: str, tokenizer_folder: Path, folder: Path) -> int:
    """Write the folder; returns its size in bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    model = mlx_model(network, mx.float16)
    nn.quantize(model, group_size=GROUP, bits=BITS)
    weights = dict(tree_flatten(model.parameters()))
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    config = configuration(network, about) | {"quantization": {"group_size": GROUP, "bits": BITS}}
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(tokenizer_folder / name, folder / name)
    return sum(file.stat().st_size for file in folder.iterdir())


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m train_builtin export")
    parser.add_argument("--work", type=Path, default=Path("build/train"))
    parser.add_argument("--out", type=Path, default=Path("models/builtin"))
    options = parser.parse_args(arguments)
    about = {
        "target": "Target of the built-in pair of mlx-spec: a demonstration, see docs/builtin.md.",
        "draft": "Draft of the built-in pair of mlx-spec: a demonstration, see docs/builtin.md.",
    }
    for name, text in about.items():
        network, _ = load(options.work / f"{name}.pt")
        size = export(network, text, options.work / "tokenizer", options.out / name)
        print(f"{options.out / name}: {size:,} bytes", flush=True)
