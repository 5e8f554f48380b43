"""Heads on hidden states as folders: config.json, weights, and which of the target's tokens they know."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten
from mlx_lm.utils import dequantize_model

from mlx_spec.drafters.head import Head
from models.errors import BrokenFiles
from models.load.checkpoint import on_cpu
from models.pairs.folder import read_json

GROUP = 64
"""Weights that share a scale."""
WEIGHTS = "model.safetensors"

Config = Mapping[str, Any]
Weights = dict[str, mx.array]
Rename = Callable[[str], str]
H = TypeVar("H", bound=Head)


def load_head(folder: Path, make: Callable[[Config, Weights], H], rename: Rename = str) -> H:
    """The head in a folder.

    Args:
        make: of what is in the folder; takes out of the weights what is none of the head's.
        rename: from a tensor's name in the file to that in the head.

    Raises:
        BrokenFiles: something is missing in it.
        UnsupportedModel: it is of another target.
    """
    config, as_float32 = read_json(folder / "config.json") or {}, on_cpu()
    weights: Weights = mx.load(str(folder / WEIGHTS))  # type: ignore[assignment]
    try:
        head = make(config, weights)
    except KeyError as error:
        raise BrokenFiles(f"The head in {folder} names no {error}. Train or fetch it again.") from error
    except (TypeError, ValueError) as error:
        raise BrokenFiles(f"The head in {folder} is damaged: {error}. Train or fetch it again.") from error
    weights = {rename(name): x for name, x in weights.items()}
    if as_float32:
        weights = _cast(weights, mx.float32)
    if quantization := config.get("quantization"):
        nn.quantize(head, quantization["group_size"], quantization["bits"],
                    class_predicate=lambda path, _: f"{path}.scales" in weights)  # fmt: skip
    try:
        head.load_weights(list(weights.items()))
    except ValueError as error:
        raise BrokenFiles(f"The head in {folder} does not match its config.json: {error}") from error
    if as_float32 and quantization:
        dequantize_model(head)
    mx.eval(head.parameters())
    return head


def save_head(folder: Path, head: Head, config: Config, bits: int | None, rename: Rename = str) -> None:
    """Write a head to an empty folder.

    Args:
        bits: of its matrices; None: float16.
        rename: from a tensor's name in the head to that in the file.
    """
    quantization = {}
    if bits:
        nn.quantize(head, GROUP, bits, class_predicate=_is_divisible)
        quantization = {"quantization": {"group_size": GROUP, "bits": bits}}
    parameters: Weights = {rename(k): x for k, x in tree_flatten(head.parameters())}  # type: ignore[misc]
    tokens, known = np.array(head.tokens, np.int64), np.zeros(head.vocab, np.bool_)
    known[tokens] = True
    offsets = {"d2t": mx.array(tokens - np.arange(len(tokens))), "t2d": mx.array(known.tolist())}
    mx.save_safetensors(str(folder / WEIGHTS), _cast(parameters, mx.float16) | offsets, {"format": "mlx"})
    (folder / "config.json").write_text(json.dumps({**quantization, **config}, indent=1) + "\n")


def take_tokens(weights: Weights, vocab: int) -> tuple[int, ...]:
    """The target's id of each token that a head knows, out of its weights.

    Raises:
        KeyError: they are not among them.
        ValueError: one is no token of the target.
    """
    offsets = weights.pop("d2t")
    weights.pop("t2d", None)
    if offsets.ndim != 1 or not mx.issubdtype(offsets.dtype, mx.integer):
        raise ValueError("its d2t is no list of whole numbers")
    tokens: list[int] = (offsets + mx.arange(len(offsets))).tolist()  # type: ignore[assignment]
    if odd := [token for token in tokens if not 0 <= token < vocab]:
        raise ValueError(f"its d2t names token {odd[0]}, and the target has {vocab} tokens")
    return tuple(tokens)


def size(config: Config, name: str) -> int:
    """KeyError where it is not there, ValueError where it is none."""
    if type(value := config[name]) is not int or value < 1:
        raise ValueError(f"its {name} is {value!r}")
    return value


def _is_divisible(_: str, layer: nn.Module) -> bool:
    return isinstance(layer, nn.Linear) and layer.weight.shape[-1] % GROUP == 0


def _cast(weights: Weights, dtype: mx.Dtype) -> Weights:
    """Those that are no packed or whole numbers."""
    return {k: x.astype(dtype) if mx.issubdtype(x.dtype, mx.floating) else x for k, x in weights.items()}
